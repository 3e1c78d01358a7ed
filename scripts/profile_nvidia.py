#!/usr/bin/env python3
"""Runs a captured launch (`lanefield capture`) on an NVIDIA GPU through CUDA's driver, times it, and has Nsight Compute profile it.

The code is the PTX that NVIDIA's OpenCL driver made, the arguments are those of the launch, and the result is held against the captured one, bit for bit.
docs/counters.md goes through it. Needs a GPU and CuPy; --check needs neither. With --ncu the script starts itself under Nsight Compute, and writes a
CSV for `lanefield counters` and `lanefield doctor --counters`.

Exit codes: 0 done, 1 other bits, or a capture that is damaged, 2 bad usage, or something is missing.
"""

import argparse
import ctypes
import dataclasses
import hashlib
import json
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

FORMAT = "lanefield capture"
VERSION = 1
TEXTURE_MODE = ", texmode_independent"
# The most groups of a launch in each dimension.
MOST_GROUPS = (2**31 - 1, 65535, 65535)
SCALARS = {"uint": 4, "int": 4, "ulong": 8, "float": 4, "double": 8}

# What `lanefield counters` reads: sections know the metrics of each chip; those below are in no section, or not in all versions of one.
SECTIONS = [
    "SpeedOfLight",
    "MemoryWorkloadAnalysis",
    "ComputeWorkloadAnalysis",
    "SchedulerStats",
    "WarpStateStats",
    "Occupancy",
    "LaunchStats",
]
METRICS = [
    "gpu__time_duration.sum",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_bytes.sum",
    "l1tex__t_bytes.sum",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum",
]


class Problem(Exception):
    """What is wrong, and what would be right."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


@dataclasses.dataclass
class Buffer:
    what: str
    before: bytes
    after: bytes
    written: bool


@dataclasses.dataclass
class Capture:
    kernel: str
    device: str
    binary_format: str
    binary: bytes
    # The most registers a work-item that the program was built for; None where that was left to the compiler.
    maxregs: object
    grid: tuple
    block: tuple
    offset: tuple
    launch: str
    # ("buffer", number), ("scalar", bytes) or ("local", bytes of it)
    arguments: list
    buffers: list
    # Bytes that the call must move; None where that is not known, or the call has other launches, too.
    work_bytes: object
    about: dict


@dataclasses.dataclass
class Parameter:
    """A parameter of an entry in PTX."""

    name: str
    bytes: int
    space: object  # "global", "shared", "const", or None where it is not said


def three(value, what):
    whole = isinstance(value, list) and len(value) == 3 and all(type(size) is int and size >= 0 for size in value)
    if not whole:
        raise Problem(f"{what} is {value!r}: expected three whole numbers", 1)
    return tuple(value)


def content(directory, entry, size=None):
    """A file of the capture, with the size and the digest that the manifest says."""
    name = entry["file"]
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise Problem(f"'{name}' is no name of a file in {directory}", 1)
    try:
        data = (directory / name).read_bytes()
    except OSError as error:
        raise Problem(f"cannot read {directory / name}: {error.strerror}", 1) from None
    if size is not None and len(data) != size:
        raise Problem(f"{directory / name} has {len(data)} bytes instead of {size}: capture the launch again", 1)
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise Problem(f"{directory / name} has another SHA-256 than its manifest says: capture the launch again", 1)
    return data


def read_capture(directory):
    """Reads a capture, and checks all that can be checked without a GPU."""
    directory = Path(directory)
    manifest = directory / "manifest.json"
    try:
        document = json.loads(manifest.read_text())
    except OSError as error:
        raise Problem(f"{directory} holds no captured launch: {manifest}: {error.strerror}", 1) from None
    except ValueError as error:
        raise Problem(f"{manifest} is no JSON: {error}", 1) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Problem(f"{manifest} is not of the format '{FORMAT}'", 1)
    if document.get("version") != VERSION:
        raise Problem(f"{manifest} is of version {document.get('version')}, and this script reads {VERSION}", 1)
    try:
        return captured(directory, document)
    except KeyError as error:
        raise Problem(f"{manifest} lacks the key {error}", 1) from None
    except (TypeError, AttributeError) as error:
        raise Problem(f"{manifest} has something of another kind than expected: {error}", 1) from None


def captured(directory, document):
    program, launch = document["program"], document["launch"]
    binary = content(directory, program)
    buffers = []
    for entry in document["buffers"]:
        before = content(directory, entry["before"], entry["bytes"])
        written = entry["after"] is not None
        after = content(directory, entry["after"], entry["bytes"]) if written else before
        buffers.append(Buffer(entry["what"], before, after, written))
    arguments = []
    for number, entry in enumerate(document["arguments"]):
        kind = entry["kind"]
        if kind == "buffer":
            if type(entry["buffer"]) is not int or not 0 <= entry["buffer"] < len(buffers):
                raise Problem(f"argument {number} is buffer {entry['buffer']}, and there are {len(buffers)}", 1)
            arguments.append(("buffer", entry["buffer"]))
        elif kind == "scalar":
            size = SCALARS.get(entry["type"])
            if size is None:
                raise Problem(f"argument {number} is of type {entry['type']}: expected one of {', '.join(SCALARS)}", 1)
            try:
                value = bytes.fromhex(entry["hex"])
            except ValueError:
                value = b""
            if len(value) != size:
                raise Problem(f"argument {number} is '{entry['hex']}': expected {size} bytes in hexadecimal", 1)
            arguments.append(("scalar", value))
        elif kind == "local":
            arguments.append(("local", entry["bytes"]))
        else:
            raise Problem(f"argument {number} is of kind {kind!r}: expected buffer, scalar or local", 1)
    sizes = three(launch["global"], "the global size")
    block = three(launch["local"], "the local size")
    if any(group == 0 or size == 0 or size % group for size, group in zip(sizes, block)):
        raise Problem(f"{sizes} work-items are no whole groups of {block}", 1)
    work = document.get("work")
    capture = Capture(
        kernel=document["kernel"],
        device=document["device"]["name"],
        binary_format=program["binary_format"],
        binary=binary,
        maxregs=registers_of(program.get("options", "")),
        grid=tuple(size // group for size, group in zip(sizes, block)),
        block=block,
        offset=three(launch["offset"], "the offset"),
        launch=f"{launch['number']} of {launch['launches']}",
        arguments=arguments,
        buffers=buffers,
        work_bytes=work["bytes"] if work and launch["launches"] == 1 else None,
        about=document["about"],
    )
    if capture.binary_format == "ptx":
        check_parameters(capture, text_of(binary, program["file"]))
    return capture


def text_of(binary, name):
    """PTX as text, without the NUL bytes that drivers put behind it."""
    try:
        text = binary.rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not re.search(r"^\s*\.version\b", text, re.M) or not re.search(r"^\s*\.target\b", text, re.M):
        raise Problem(f"{name} is no PTX: it has no .version and .target")
    return text


def parameters(ptx, kernel):
    """The parameters of an entry."""
    entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
    found = re.search(rf"\.entry\s+{re.escape(kernel)}\s*(?:\(([^)]*)\))?\s*(?=[.{{\n])", ptx)
    if kernel not in entries or not found:
        raise Problem(f"the PTX has no entry {kernel}; it has: {', '.join(entries) or 'none'}")
    of_entry = []
    for declared in filter(None, (part.strip() for part in (found.group(1) or "").split(","))):
        size = re.search(r"\.[busf](8|16|32|64)\b", declared)
        name = re.search(r"([\w$]+)\s*(?:\[\s*(\d+)\s*\])?$", declared)
        if not size or not name:
            raise Problem(f"the PTX declares a parameter of {kernel} that is not understood: {declared}")
        space = re.search(r"\.ptr\s+\.(global|shared|const|local)\b", declared)
        count = int(name.group(2) or 1)
        of_entry.append(Parameter(name.group(1), count * int(size.group(1)) // 8, space and space.group(1)))
    return of_entry


def check_parameters(capture, ptx):
    """Refuses PTX whose entry takes other arguments than were captured."""
    of_entry = parameters(ptx, capture.kernel)
    given = len(capture.arguments)
    if len(of_entry) != given:
        raise Problem(f"{capture.kernel} takes {len(of_entry)} parameters in PTX, and {given} arguments were captured")
    for number, (parameter, (kind, value)) in enumerate(zip(of_entry, capture.arguments)):
        fits = {
            "scalar": parameter.space is None and kind == "scalar" and parameter.bytes == len(value),
            "buffer": parameter.space in (None, "global", "const") and parameter.bytes == 8,
            "local": parameter.space in (None, "shared") and parameter.bytes in (4, 8),
        }
        if not fits[kind]:
            space = f" to {parameter.space} memory" if parameter.space else ""
            size = f" of {len(value)} bytes" if kind == "scalar" else ""
            raise Problem(
                f"argument {number} of {capture.kernel} is a {kind}{size}, and the PTX has {parameter.name} of {parameter.bytes} bytes{space}"
            )
    return of_entry


# The special registers of OpenCL's driver: the place of the first work-item, and the number of groups, in three dimensions.
OFFSET_REGISTERS = (3, 4, 5)
GRID_REGISTERS = (6, 7, 8)


def with_constants(ptx, registers, values):
    """The PTX with constants in place of special registers."""
    for register, value in zip(registers, values):
        ptx = re.sub(rf"%envreg{register}\b", str(value), ptx)
    return ptx


def registers_of(options):
    """The most registers that a program was built for."""
    limit = re.search(r"-cl-nv-maxrregcount=(\d+)", options)
    return int(limit[1]) if limit else None


def probe_of(ptx):
    """A kernel that tells where dynamic shared memory begins, and what is in the registers that hold OpenCL's offset."""
    head = [line for line in ptx.splitlines() if re.match(r"\s*\.(version|target|address_size)\b", line)]
    return "\n".join(
        head
        + [
            ".extern .shared .align 16 .b8 dynamic_memory[];",
            ".visible .entry lanefield_probe(.param .u64 lanefield_probe_out)",
            "{",
            ".reg .b32 %r<4>;",
            ".reg .b64 %rd<4>;",
            "ld.param.u64 %rd1, [lanefield_probe_out];",
            "cvta.to.global.u64 %rd2, %rd1;",
            "mov.u64 %rd3, dynamic_memory;",
            "st.global.u64 [%rd2], %rd3;",
            "mov.b32 %r1, %envreg3;",
            "st.global.u32 [%rd2+8], %r1;",
            "mov.b32 %r2, %envreg4;",
            "st.global.u32 [%rd2+12], %r2;",
            "mov.b32 %r3, %envreg5;",
            "st.global.u32 [%rd2+16], %r3;",
            "ret;",
            "}",
            "",
        ]
    )


def aligned(number, to=16):
    return -(-number // to) * to


def local_places(capture, base):
    """Where each argument in local memory begins, one after the other from `base` on, and the bytes of dynamic shared memory that they need."""
    place, start, places = aligned(base), base, {}
    for number, (kind, value) in enumerate(capture.arguments):
        if kind == "local":
            places[number] = place
            place = aligned(place + value)
    return places, (place - start if places else 0)


def values_of(capture, of_entry, addresses, places):
    """The bytes of each parameter."""
    values = []
    for number, (parameter, (kind, value)) in enumerate(zip(of_entry, capture.arguments)):
        if kind == "scalar":
            values.append(value)
        else:
            address = addresses[value] if kind == "buffer" else places[number]
            values.append(address.to_bytes(parameter.bytes, "little"))
    return values


def unequal(found, expected, chunk=1 << 16):
    """How many bytes differ, and the first of them."""
    count, first = abs(len(found) - len(expected)), None
    for start in range(0, min(len(found), len(expected)), chunk):
        pair = found[start : start + chunk], expected[start : start + chunk]
        if pair[0] != pair[1]:
            places = [start + place for place, (a, b) in enumerate(zip(*pair)) if a != b]
            count += len(places)
            first = places[0] if first is None and places else first
    return count, min(len(found), len(expected)) if first is None else first


def differences(capture, found):
    """A line for each buffer that holds something else than after the captured launch."""
    lines = []
    for number, (buffer, data) in enumerate(zip(capture.buffers, found)):
        if data != buffer.after:
            count, first = unequal(data, buffer.after)
            lines.append(f"buffer {number} ({buffer.what}): {count} bytes differ, the first at byte {first}")
    return lines


def spills_in(log, kernel):
    """What the compiler's log says of spilled registers; nothing where it says nothing, as of code that it has compiled before."""
    of_kernel = log.partition(f"'{kernel}'")[2].partition("Compiling entry function")[0]
    found = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", of_kernel)
    return f", {found.group(1)} bytes of spills stored and {found.group(2)} loaded" if found else ""


class Module:
    """Loaded device code."""

    def __init__(self, handle, log):
        self.handle, self.log = handle, log


class Gpu:
    """The GPU: memory and events through CuPy, code and launches through the driver, which takes options when it compiles PTX."""

    MAX_THREADS, SHARED_BYTES, LOCAL_BYTES, REGISTERS, MAX_DYNAMIC = 0, 1, 3, 4, 8

    def __init__(self):
        try:
            import cupy
        except ImportError as error:
            raise Problem(f"CuPy is missing ({error}): python3 -m pip install cupy-cuda12x, or cupy-cuda13x") from None
        self.cupy = cupy
        try:
            count = cupy.cuda.runtime.getDeviceCount()
            self.name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode() if count else None
        except Exception as error:  # CuPy has types of its own for each interface.
            raise Problem(f"there is no NVIDIA GPU that CUDA can use: {error}") from None
        if not count:
            raise Problem("there is no NVIDIA GPU that CUDA can use")
        # The primary context is made with the first memory.
        self.first = cupy.zeros(1, dtype=cupy.uint8)
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Problem(f"CUDA's driver cannot be loaded: {error}") from None

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(status, ctypes.byref(text))
            raise Problem(f"{name} failed with {(text.value or b'an unknown error').decode()} ({status})")

    def load(self, ptx, maxregs=None):
        """Compiles PTX. `maxregs`: the most registers a work-item (CU_JIT_MAX_REGISTERS)."""
        size = 1 << 16
        logs = [ctypes.create_string_buffer(size) for _ in range(2)]
        # CU_JIT_INFO_LOG_BUFFER, its size, CU_JIT_ERROR_LOG_BUFFER, its size, CU_JIT_LOG_VERBOSE.
        options = [(3, ctypes.addressof(logs[0])), (4, size), (5, ctypes.addressof(logs[1])), (6, size), (12, 1)]
        if maxregs:
            options.insert(0, (0, maxregs))
        names = (ctypes.c_int * len(options))(*(name for name, _ in options))
        values = (ctypes.c_void_p * len(options))(*(value for _, value in options))
        handle = ctypes.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(handle), ptx.encode() + b"\0", len(options), names, values)
        except Problem as problem:
            raise Problem(f"{problem}: {logs[1].value.decode(errors='replace').strip()}") from None
        return Module(handle, logs[0].value.decode(errors="replace").strip())

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module.handle, name.encode())
        return function

    def attribute(self, function, attribute):
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), attribute, function)
        return value.value

    def allow_dynamic(self, function, size):
        self.call("cuFuncSetAttribute", function, self.MAX_DYNAMIC, size)

    def upload(self, data):
        # A kernel may read 16 bytes at once.
        memory = self.cupy.zeros(aligned(max(len(data), 16)), dtype=self.cupy.uint8)
        self.restore(memory, data)
        return memory

    def restore(self, memory, data):
        import numpy

        if data:
            memory[: len(data)] = self.cupy.asarray(numpy.frombuffer(data, dtype=numpy.uint8))

    def download(self, memory, size):
        return self.cupy.asnumpy(memory[:size]).tobytes()

    def address(self, memory):
        return int(memory.data.ptr)

    def launch(self, function, grid, block, dynamic, values):
        held = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * max(1, len(held)))(*(ctypes.addressof(one) for one in held))
        stream = ctypes.c_void_p(self.cupy.cuda.get_current_stream().ptr)
        self.call("cuLaunchKernel", function, *grid, *block, dynamic, stream, pointers, None)

    def finish(self):
        try:
            self.cupy.cuda.get_current_stream().synchronize()
        except Exception as error:
            raise Problem(f"the kernel broke off: {error}") from None

    def microseconds(self, work):
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return 1e3 * self.cupy.cuda.get_elapsed_time(start, end)


class Run:
    """A capture on a GPU, ready to be launched."""

    def __init__(self, gpu, capture, ptx, maxregs=None, say=print):
        self.gpu, self.capture = gpu, capture
        of_entry = check_parameters(capture, ptx)
        for name, groups, most in zip("xyz", capture.grid, MOST_GROUPS):
            if groups > most:
                raise Problem(
                    f"CUDA launches at most {most} groups in {name}, and the capture has {groups}: capture larger groups (--accelerator-threads), or a smaller lattice"
                )
        # CUDA never sets them, and a kernel that strides over sites would not end.
        ptx = with_constants(ptx, GRID_REGISTERS, capture.grid)
        others = sorted(set(re.findall(r"%envreg(?![345]\b)\d+", ptx)))
        if others:
            say(f"note: the code reads {', '.join(others)}, which only OpenCL's driver sets; the bits will tell")
        try:
            base, registers = self.probe(ptx)
        except Problem as problem:
            if TEXTURE_MODE not in ptx:
                raise
            # Says how textures are bound, and there are none.
            say(f"note: CUDA does not take {TEXTURE_MODE.strip(', ')}, which is left out ({problem})")
            ptx = ptx.replace(TEXTURE_MODE, "")
            base, registers = self.probe(ptx)
        if "%envreg" in ptx and registers != tuple(capture.offset):
            say(f"note: the registers of OpenCL's offset hold {registers} under CUDA: {capture.offset} is put in their place")
            ptx = with_constants(ptx, OFFSET_REGISTERS, capture.offset)
        self.module = gpu.load(ptx, maxregs)
        self.function = gpu.function(self.module, capture.kernel)
        attribute = lambda what: gpu.attribute(self.function, what)
        self.registers, self.spilled = attribute(gpu.REGISTERS), attribute(gpu.LOCAL_BYTES)
        self.shared = attribute(gpu.SHARED_BYTES)
        self.spills = spills_in(self.module.log, capture.kernel)
        threads, most = capture.block[0] * capture.block[1] * capture.block[2], attribute(gpu.MAX_THREADS)
        if threads > most:
            raise Problem(f"groups of {threads} work-items cannot be launched: with {self.registers} registers at most {most}")
        # Static shared memory comes first.
        places, self.dynamic = local_places(capture, base + self.shared)
        if self.dynamic + self.shared > 48 << 10:
            gpu.allow_dynamic(self.function, self.dynamic)
        self.memories = [gpu.upload(buffer.before) for buffer in capture.buffers]
        self.values = values_of(capture, of_entry, [gpu.address(memory) for memory in self.memories], places)

    def probe(self, ptx):
        gpu = self.gpu
        out = gpu.upload(bytes(32))
        function = gpu.function(gpu.load(probe_of(ptx)), "lanefield_probe")
        gpu.launch(function, (1, 1, 1), (1, 1, 1), 16, [gpu.address(out).to_bytes(8, "little")])
        gpu.finish()
        told = gpu.download(out, 20)
        word = lambda place, size: int.from_bytes(told[place : place + size], "little")
        return word(0, 8), (word(8, 4), word(12, 4), word(16, 4))

    def restore(self):
        for memory, buffer in zip(self.memories, self.capture.buffers):
            if buffer.written:
                self.gpu.restore(memory, buffer.before)

    def launch(self):
        capture = self.capture
        self.gpu.launch(self.function, capture.grid, capture.block, self.dynamic, self.values)

    def differences(self):
        """Launches once on what was there before the captured launch."""
        self.restore()
        self.launch()
        self.gpu.finish()
        found = [self.gpu.download(memory, len(buffer.before)) for memory, buffer in zip(self.memories, self.capture.buffers)]
        return differences(self.capture, found)

    def times(self, warm_up, repeat, restore):
        """Microseconds of each launch."""
        for _ in range(warm_up):
            self.launch()
        self.gpu.finish()
        times = []
        for _ in range(repeat):
            if restore:
                self.restore()
            times.append(self.gpu.microseconds(self.launch))
        return times


def spread(times):
    """The median, and the 10th and 90th percentiles."""
    if len(times) < 2:
        return times[0], times[0], times[0]
    tenths = statistics.quantiles(times, n=10, method="inclusive")
    return statistics.median(times), tenths[0], tenths[-1]


def ncu_command(ncu, arguments, capture, log, metrics):
    """Nsight Compute around this script: one launch, after the one that is checked and those that warm up."""
    command = [ncu, "--csv", "--page", "raw", "--log-file", str(log), "--force-overwrite"]
    command += ["--kernel-name", capture.kernel, "--launch-skip", str(1 + arguments.warm_up), "--launch-count", "1"]
    command += ["--cache-control", arguments.cache_control, "--clock-control", arguments.clock_control]
    for section in SECTIONS:
        command += ["--section", section]
    if metrics:
        command += ["--metrics", ",".join(METRICS)]
    command += [sys.executable, str(Path(__file__).resolve()), str(arguments.capture), "--repeat", "1"]
    command += ["--warm-up", str(arguments.warm_up), "--untimed"]
    if arguments.ptx:
        command += ["--ptx", str(arguments.ptx)]
    if arguments.maxregs is not None:
        command += ["--maxregs", str(arguments.maxregs)]
    return command


def has_launch(text):
    """Whether what Nsight Compute wrote is a table with a launch."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    return len(lines) >= 2 and '"Kernel Name"' in lines[0]


def profile(arguments, capture, run=subprocess.run):
    ncu = shutil.which(arguments.ncu_path)
    if not ncu:
        raise Problem(f"Nsight Compute is missing: there is no {arguments.ncu_path}; install it, or give its path by --ncu-path")
    path = arguments.csv
    if path.exists() and path.stat().st_size and not arguments.force:
        raise Problem(f"--csv {path} is there already: give another name, or --force to replace it")
    for metrics in (True, False):
        done = run(ncu_command(ncu, arguments, capture, path, metrics))
        text = path.read_text(errors="replace") if path.exists() else ""
        if done.returncode == 0 and has_launch(text):
            print(f"profile: {path}; next: lanefield counters {path}")
            return 0
        if "ERR_NVGPUCTRPERM" in text:
            raise Problem("the driver keeps counters for administrators (ERR_NVGPUCTRPERM): run as root, or set NVreg_RestrictProfilingToAdminUsers=0")
        if metrics:
            print("note: Nsight Compute did not take all metrics; once more with those of its sections alone", file=sys.stderr)
    said = [line for line in text.splitlines() if line.startswith("==")]
    raise Problem(f"Nsight Compute profiled nothing (exit code {done.returncode}): {' '.join(said[-3:]) or 'see above'}")


def describe(capture):
    numbers = lambda sizes: " x ".join(map(str, sizes))
    written = sum(buffer.written for buffer in capture.buffers)
    print(f"{capture.kernel}, launch {capture.launch}, captured on {capture.device}")
    for name, value in sorted(capture.about.items()):
        print(f"  {name}: {value}")
    print(f"  groups {numbers(capture.grid)} of {numbers(capture.block)}; {len(capture.arguments)} arguments, ", end="")
    print(f"{len(capture.buffers)} buffers of {sum(len(buffer.before) for buffer in capture.buffers)} bytes, {written} written")


def whole(least):
    def read(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {least} on")
        return int(text)

    return read


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("capture", type=Path, help="the directory that `lanefield capture` wrote")
    add("--check", action="store_true", help="check the files and what they say; needs no GPU")
    add("--ptx", type=Path, metavar="FILE", help="run the kernel of this PTX instead, with the same arguments")
    add("--maxregs", type=whole(0), metavar="N", help="the most registers a work-item that the compiler may take, 0 for any (default: as captured)")
    add("--repeat", type=whole(1), default=20, metavar="N", help="timed launches (default 20)")
    add("--warm-up", type=whole(0), default=3, metavar="N", help="launches before those (default 3)")
    add("--untimed", action="store_true", help="launch all the same, and print no time: what --ncu does")
    add("--restore", action="store_true", help="put back what buffers held before each timed launch")
    add("--ncu", action="store_true", help="profile one launch with Nsight Compute, and write --csv")
    add("--csv", type=Path, metavar="FILE", help="where the profile goes (default CAPTURE.csv)")
    add("--ncu-path", default="ncu", metavar="PROGRAM", help="Nsight Compute (default ncu)")
    add("--cache-control", default="all", choices=("all", "none"), help="caches are emptied before each pass, or not (default all)")
    add("--clock-control", default="base", choices=("base", "none"), help="clocks are held at their base, or not (default base)")
    add("--force", action="store_true", help="replace --csv if it is there already")
    given = parser.parse_args(arguments)
    if given.csv is None:
        given.csv = given.capture.with_name(given.capture.resolve().name + ".csv")
    return given


def code_of(arguments, capture):
    """The PTX to run."""
    if arguments.ptx:
        try:
            return text_of(arguments.ptx.read_bytes(), arguments.ptx)
        except OSError as error:
            raise Problem(f"cannot read {arguments.ptx}: {error.strerror}") from None
    if capture.binary_format != "ptx":
        raise Problem(
            f"the launch was captured on {capture.device}, whose binaries are no PTX ({capture.binary_format}): capture it on an NVIDIA GPU, or give --ptx"
        )
    return text_of(capture.binary, "the program of the capture")


def main(arguments, gpu=Gpu, run=subprocess.run):
    arguments = parsed(arguments)
    capture = read_capture(arguments.capture)
    describe(capture)
    if arguments.check:
        if arguments.ptx or capture.binary_format == "ptx":
            check_parameters(capture, code_of(arguments, capture))
        print("the capture is whole" + ("" if capture.binary_format == "ptx" else ", and its code is no PTX: CUDA cannot run it"))
        return 0
    ptx = code_of(arguments, capture)
    check_parameters(capture, ptx)
    if arguments.ncu:
        return profile(arguments, capture, run)
    device = gpu()
    ready = Run(device, capture, ptx, capture.maxregs if arguments.maxregs is None else arguments.maxregs)
    print(f"on {device.name}: {ready.registers} registers, {ready.spilled} bytes of CUDA's local memory a work-item{ready.spills}, ", end="")
    print(f"{ready.shared + ready.dynamic} bytes of shared memory a group")
    wrong = ready.differences()
    for line in wrong:
        print(f"OTHER BITS: {line}")
    if not wrong:
        print("the bits are those of the captured launch")
    times = ready.times(arguments.warm_up, arguments.repeat, arguments.restore)
    if arguments.untimed:
        return 1 if wrong else 0
    median, tenth, ninetieth = spread(times)
    rate = f", {capture.work_bytes / median / 1e3:.1f} GB/s of what it must move" if capture.work_bytes else ""
    print(f"{median:.2f} us a launch, median of {arguments.repeat} (10 - 90 %: {tenth:.2f} - {ninetieth:.2f}){rate}")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(problem.code)
