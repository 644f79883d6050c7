#!/bin/sh
# Everything that makes the evidence model, in order. About two hours on two idle cores.
#
#     sh training/run.sh WORK [PYTHON]
#
# WORK is a folder for data and checkpoints (about 2 GB); PYTHON the interpreter of an environment with
# training/requirements.txt. Reads ../shared/train, writes src/quoth/providers/models and, for the cross-encoder, WORK.
set -eu
work=$1
python=${2:-python}
here=$(dirname "$0")
weights=$("$python" -c 'from quoth.providers.weights import find_weights as f; print(f("all-MiniLM-L6-v2", path=None, allow_download=False).directory)')

"$python" "$here/prepare.py" --work "$work"
"$python" "$here/swapped.py" --work "$work"
"$python" "$here/projection.py" --work "$work"
"$python" "$here/fit.py" --work "$work"
"$python" "$here/train.py" --work "$work" --weights "$weights" --phase others --steps 1200 --out "$work/others"
"$python" "$here/export.py" --model "$work/others" --target "$work"
