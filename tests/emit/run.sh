#!/bin/sh
# Compiles and runs the programs of every kernel in this folder, by `sh run.sh cu nvcc -O3 -arch=native`, `sh run.sh hip hipcc -O3 -ffp-contract=off`, or
# `sh run.sh c gcc -std=c99 -O3 -ffp-contract=off`. Fails if a bit differs, or something is not compiled.
cd "$(dirname "$0")" || exit 2
extension=$1
shift
export extension compiler="$*"
ls -d */ | xargs -P "$(nproc)" -n 1 sh -c '
    if $compiler "$0main.$extension" -I . -o "$0program" -lm && "./$0program" "$0"case*/; then
        echo "the same bits: $0"
    else
        echo "FAILED: $0"
        exit 1
    fi'
