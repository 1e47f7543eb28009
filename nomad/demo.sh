#!/usr/bin/env bash
# The demo: a local cluster, an example experiment followed to its end, its learning
# curve, its best checkpoint, and where to look next. The set-up (servers and
# programs) is in the justfile.
set -euo pipefail
cd "$(dirname "$0")/.."
det=bin/det
example=plugins/harness/examples/digits_numpy
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "A local cluster: PostgreSQL, Consul, Nomad, and the master as a Nomad job"
$det deploy local cluster-up
DET_MASTER=$($det deploy local status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["masterUrl"])')
export DET_MASTER DET_USER=determined DET_PASS=

say "An experiment: $example/digits.yaml, and its log as it trains"
created=$(mktemp)
trap 'rm -f "$created"' EXIT
$det experiment create "$example/digits.yaml" "$example" --follow-first-trial | tee "$created"
id=$(sed -n 's/^Created experiment \([0-9]*\).*/\1/p' "$created")
$det experiment wait "$id"

say "Its learning curve"
$det experiment plot "$id"

say "Its best checkpoint"
$det experiment list-checkpoints --best 1 "$id"

say "Where to look"
$det deploy local status
