#!/bin/sh
# Sees to what a build and the tests need beside this repository: cargo, a C linker, and an OpenCL device. Where there is none, it
# installs PoCL, which makes a device of the CPU, if it may: on Debian and Ubuntu, as root or with a sudo that asks for no password. Likewise
# clang 15, which compiles the kernels for AMD's GPUs without one (crates/lab/tests/amd_spills.rs, lanefield occupancy).
# Where it may not, it says what to install. It does nothing and says nothing where all is there.
#
# Exit status: 0 all is there; 1 no cargo or linker, so nothing can be built; 2 no OpenCL device (the CPU reference runs without).
set -eu

# For ldconfig, which a user's path may lack.
PATH="$PATH:/usr/sbin:/sbin"
PACKAGES="pocl-opencl-icd ocl-icd-libopencl1"

have() { command -v "$1" >/dev/null 2>&1; }

# An OpenCL loader, and at least one driver that it is told of. Mesa's do not count: without RUSTICL_ENABLE and a GPU of theirs they list no device.
have_opencl() {
    [ -n "${OPENCL_DYLIB_PATH:-}" ] && return 0
    ldconfig -p 2>/dev/null | grep -q 'libOpenCL\.so' || return 1
    [ -n "${OCL_ICD_VENDORS:-}" ] && return 0
    for driver in /etc/OpenCL/vendors/*.icd; do
        case "${driver##*/}" in mesa.icd | rusticl.icd) continue ;; esac
        [ -e "$driver" ] && return 0
    done
    return 1
}

# Prints the command that gives root, nothing where this is root; fails where there is no way.
as_root() {
    [ "$(id -u)" = 0 ] && return 0
    have sudo && sudo -n true 2>/dev/null && echo "sudo -n"
}

install_packages() {
    have apt-get && root=$(as_root) || return 1
    echo "setup: installing $*" >&2
    # shellcheck disable=SC2086 # $root is no word, or two.
    $root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || echo "setup: apt-get update failed; trying all the same" >&2
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# rustup puts cargo where a shell that was open before does not look.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
if have cargo; then found=$(cargo --version | cut -d ' ' -f 2); else found=none; fi
if [ "$found" = none ] || [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" != "$wanted" ]; then
    echo "setup: Rust $wanted or later is needed, and found is $found. Get it from https://rustup.rs:" >&2
    echo "setup:     curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2
    echo "setup: or, where rustup is there already: rustup update stable" >&2
    exit 1
fi

if ! have cc && ! install_packages gcc libc6-dev; then
    echo "setup: there is no C linker (cc). On Debian and Ubuntu: apt-get install gcc libc6-dev" >&2
    exit 1
fi

if ! have_opencl; then
    # shellcheck disable=SC2086 # Two packages.
    if ! install_packages $PACKAGES || ! have_opencl; then
        echo "setup: there is no OpenCL device here, and none could be installed. On Debian and Ubuntu, as root:" >&2
        echo "setup:     apt-get install $PACKAGES" >&2
        exit 2
    fi
fi

# For the test that builds the program of a hunt (tests/hunt.rs).
if ! [ -e /usr/include/CL/cl.h ] && ! install_packages opencl-c-headers; then
    echo "setup: there is no CL/cl.h, with which programs that \`lanefield hunt\` finds are built. On Debian and Ubuntu, as root:" >&2
    echo "setup:     apt-get install opencl-c-headers" >&2
fi

# For the programs in C++ and Fortran, and for valgrind (crates/capi/tests/programs.rs): what is not there is left out.
for program in g++ gfortran valgrind; do
    if ! have "$program" && ! install_packages "$program"; then
        echo "setup: there is no $program, with which programs that use liblanefield are tested. On Debian and Ubuntu, as root:" >&2
        echo "setup:     apt-get install $program" >&2
    fi
done

# Without it only the test of kernels for AMD's GPUs fails, and says so.
if [ -z "${LANEFIELD_CLANG:-}" ] && ! have clang-15 && ! install_packages clang-15; then
    echo "setup: there is no clang-15, which compiles kernels for AMD's GPUs; LANEFIELD_CLANG names another one. On Debian and Ubuntu, as root:" >&2
    echo "setup:     apt-get install clang-15" >&2
fi
