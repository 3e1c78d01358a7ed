#!/usr/bin/env python3
"""Flips one bit in the memory of a running solve, again and again, and looks for wrong solutions that were accepted.

    scripts/flip_bits.py target/release/lanefield --flips 300 -- --operator wilson --mass -0.2 --device cpu

What follows `--` goes to `lanefield solve`; `--device 0` takes an OpenCL device whose memory is that of the process, as PoCL's is. With --replay each run
is compared with a record of the solve (`lanefield solve --verify`). Each run is held against one without a flip: a solution that differs by more than
--wrong, of a run that ended with exit code 0, is wrong and accepted. Caches of programs are in a folder of their own. Linux only; takes the time of a
solve for each flip.
"""

import argparse
import array
import ast
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

PAGE = os.sysconf("SC_PAGE_SIZE")


def numbers(path):
    """The reals of a .npy file."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10 : 10 + length].decode("latin1"))
    return array.array({"<c16": "d", "<c8": "f"}[header["descr"]], data[10 + length :])


def distance(found, expected):
    """|found − expected| / |expected|, infinite where that is no number."""
    if len(found) != len(expected):
        return math.inf
    result = math.sqrt(sum((a - b) ** 2 for a, b in zip(found, expected)) / sum(b * b for b in expected))
    return result if math.isfinite(result) else math.inf


def resident(pid, chosen):
    """An address in resident, writable memory of a process, uniformly chosen."""
    with open(f"/proc/{pid}/maps") as file:
        maps = [line.split() for line in file]
    regions = [tuple(int(end, 16) for end in fields[0].split("-")) for fields in maps if "w" in fields[1]]
    pages = []
    with open(f"/proc/{pid}/pagemap", "rb") as file:
        for begin, end in regions:
            file.seek(begin // PAGE * 8)
            entries = file.read((end - begin) // PAGE * 8)
            pages += [begin + k // 8 * PAGE for k in range(0, len(entries), 8) if entries[k + 7] & 0x80]
    return chosen.choice(pages) + chosen.randrange(PAGE)


def flip(pid, chosen):
    """Flips one bit."""
    address = resident(pid, chosen)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        (byte,) = memory.read(1)
        memory.seek(address)
        memory.write(bytes([byte ^ 1 << chosen.randrange(8)]))
    return address


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of lanefield")
    parser.add_argument("--flips", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lattice", default="8.8.8.16", help="extents of the random configuration")
    parser.add_argument("--tolerance", type=float, default=1e-12)
    parser.add_argument("--replay", action="store_true", help="compare each run with a record")
    parser.add_argument("--wrong", type=float, default=1e-9, help="relative distance of solutions that counts as wrong")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, solve = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    chosen = random.Random(given.seed)
    program = os.path.abspath(given.program)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        os.environ["POCL_CACHE_DIR"] = os.path.join(folder, "pocl")
        os.makedirs(os.environ["POCL_CACHE_DIR"])
        generate = ["config", "generate", "weak", "--lattice", given.lattice, "--seed", "7", "--output", "weak.nersc"]
        subprocess.run([program, *generate], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        command = [program, "solve", "--config", "weak.nersc", "--source", "gauss:3", "--tolerance", str(given.tolerance)]
        command += solve + ["--output", "psi.npy", "--force"]
        if given.replay:
            subprocess.run(command + ["--record", "record"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            command += ["--verify", "record"]
        else:
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        start = time.monotonic()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        output = os.path.join(folder, "psi.npy")
        expected = numbers(output)
        counts = {"same bits": 0, "within --wrong": 0, "refused": 0, "crashed": 0}
        wrong = []
        while len(wrong) + sum(counts.values()) < given.flips:
            if os.path.exists(output):
                os.remove(output)
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
            running = subprocess.Popen(command, cwd=folder, **quiet)
            wait = chosen.uniform(0.0, seconds)
            time.sleep(wait)
            address = None
            try:
                if running.poll() is None:
                    address = flip(running.pid, chosen)
            except (OSError, IndexError):
                pass
            try:
                errors = running.communicate(timeout=60 * seconds + 60)[1]
            except subprocess.TimeoutExpired:
                running.kill()
                errors = running.communicate()[1]
            if address is None:
                # The run had ended: runs are faster now.
                seconds = wait
                continue
            if running.returncode < 0 or running.returncode == 101:
                counts["crashed"] += 1
            elif running.returncode != 0:
                counts["refused"] += 1
            else:
                found = distance(numbers(output), expected)
                if found == 0.0:
                    counts["same bits"] += 1
                elif found <= given.wrong:
                    counts["within --wrong"] += 1
                else:
                    wrong.append(f"after {wait:.3f} s at {address:#x}, off by {found:.3e}: {errors.decode()}")
        # A file that a flip spoiled, of a cache say, would spoil all runs after it.
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        if distance(numbers(output), expected) != 0.0:
            wrong.append("without a flip, at the end: a file of the cache was spoiled\n")
        print(", ".join(f"{what}: {count}" for what, count in counts.items()))
        print(f"wrong and accepted: {len(wrong)} of {given.flips}")
        print("\n".join(wrong), end="")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
