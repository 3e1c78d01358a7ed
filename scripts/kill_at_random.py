#!/usr/bin/env python3
"""Kills a solve at random moments (SIGKILL), again and again, and resumes it from its checkpoint.

    scripts/kill_at_random.py target/release/lanefield --kills 200 -- --mass -0.2 --device cpu

What follows `--` goes to `lanefield solve`. The solution must have the bytes of an undisturbed solve, and no kill may leave a file. Takes the time of a
solve for each kill.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="path of lanefield")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lattice", default="8.8.8.16", help="extents of the random configuration")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, solve = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    chosen = random.Random(given.seed)
    program = os.path.abspath(given.program)
    with tempfile.TemporaryDirectory() as folder:

        def run(arguments, **how):
            return subprocess.Popen([program, *arguments], cwd=folder, stdout=subprocess.DEVNULL, **how)

        def content(name):
            with open(os.path.join(folder, name), "rb") as file:
                return file.read()

        generate = ["config", "generate", "weak", "--lattice", given.lattice, "--seed", "7", "--output", "weak.nersc"]
        command = ["solve", "--config", "weak.nersc", "--source", "gauss:3", "--force", *solve]
        for arguments in (generate, [*command, "--output", "whole.npy"]):
            assert run(arguments).wait() == 0
        command += ["--checkpoint", "state", "--checkpoint-every", "1", "--resume", "--output", "psi.npy", "--history", "h.csv"]
        start = time.monotonic()
        assert run(command, stderr=subprocess.DEVNULL).wait() == 0
        seconds = time.monotonic() - start
        kills, left, wrong, ended = 0, set(), 0, 0
        while kills < given.kills:
            process = run(command, stderr=subprocess.DEVNULL)
            time.sleep(chosen.uniform(0.0, seconds))
            if process.poll() is None:
                process.kill()
                kills += 1
            if process.wait() == 0:
                # It came to its end: the next one starts anew.
                ended += 1
                wrong += content("psi.npy") != content("whole.npy")
                os.remove(os.path.join(folder, "state"))
            left |= set(os.listdir(folder)) - {"weak.nersc", "whole.npy", "state", "psi.npy", "h.csv"}
        assert run(command, stderr=subprocess.DEVNULL).wait() == 0
        wrong += content("psi.npy") != content("whole.npy")
        print(f"{kills} kills, {ended + 1} solves came to their end, {wrong} of them with other bytes; files left: {sorted(left) or 'none'}")
        sys.exit(1 if wrong or left else 0)


if __name__ == "__main__":
    main()
