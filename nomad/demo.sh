#!/bin/sh
# The demo: a local cluster, an example experiment followed to its end with its
# learning curve, then its best checkpoint and where to look next. Set-up (servers,
# binaries) is the justfile's; this is the story.
set -eu
cd "$(dirname "$0")/.."
det=bin/det
example=plugins/harness/examples/digits_numpy
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "Starting a local cluster (PostgreSQL, Consul, Nomad, and the master as a Nomad job)"
$det deploy local cluster-up
DET_MASTER=$($det deploy local status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["masterUrl"])')
export DET_MASTER DET_USER=determined DET_PASS=

say "Submitting $example/digits.yaml"
out=$($det experiment create "$example/digits.yaml" "$example")
echo "$out"
id=$(printf '%s\n' "$out" | sed -n 's/^Created experiment \([0-9]*\).*/\1/p')

say "Following its log"
$det experiment logs -f "$id"
$det experiment wait "$id"

say "Its learning curve"
$det experiment plot "$id"

say "Its best checkpoint"
$det experiment list-checkpoints --best 1 "$id"

say "Look around"
$det deploy local status
