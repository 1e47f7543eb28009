# Everything there is to do with a checkout. Run it with ./justw where just is not installed.

set shell := ["bash", "-euo", "pipefail", "-c"]

# NVML's header marks what it has replaced, and go-nvml names all of it.
export CGO_CFLAGS := "-O2 -g -Wno-deprecated-declarations"

# What go compiles has no path of this checkout in it, so a checkout in another folder finds it in go's cache: the
# continuous integration works in a new one each time. The same, for what one runs by hand: go env -w GOFLAGS=-trimpath
export GOFLAGS := "-trimpath"

# Tests start hundreds of Pythons. Each of them would compile the Python package again where the environment says that nothing is to be kept.
export PYTHONDONTWRITEBYTECODE := ""

# Tools at exact versions, run from the Go module registry.
golangci := "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run --concurrency 1"
ready    := "go run ./nomad/servers/cmd/detent-servers"

# Tests are compiled as the programs are, without C: otherwise every package that knows the network would be compiled twice.
# Only plugins/gpu and the race detector need C.
nocgo    := "-env CGO_ENABLED=0"

# Runs tests, and repeats those that failed once, alone, at the end of the run (integration/again).
again    := "go run ./integration/again"

# The parts of a whole run: what comes first, and two lanes side by side, because the clusters of the first
# wait most of their time. Where nothing is built yet, Python's packages are fetched while the servers compile.
parts    := "-early 'venv tasks,venv compat,venv harness,venv fuzz,venv keras,venv torch,venv mlflow,venv optuna' -before build,test-servers -lane integration -lane '~package-tests,lint,verify,harness-test,keras-test,torch-test,ui-test'"

# Pure packages: go keeps the results of their tests until something changes that they are made of or read, because there is no -shuffle.
# Their random scenes are drawn once for each change; just nightly draws many (recipe draws). integration/house checks that they are pure.
pure     := "expconf expconf/formula expconf/objectives checkpoints/keep find jsontext lifecycle live/updates logs/chunk logs/policy metrics/report metrics/series metrics/summary mlflow/filter names pool pool/jobfile regex sched search search/budget search/choices search/front search/gain search/onward search/sim task webhook/event"

# Tests of one package that run side by side: four streams of tests (two lanes, two packages at a time in each) keep
# two cores busy as it is, and more of them only make each other late.
parallel := "$(( (" + num_cpus() + " + 1) / 2 ))"

# The commit's hash chooses the version of Keras (2 or 3), a half of the tests with clusters of their own (nomad/servers/turn), and the
# quarter of the packages for the race detector, so that a few commits go through all of them; just nightly has all. The variables are
# not called DETENT_…, because a master reads each one of that name as a key of its configuration, and package-tests start masters.
hash     := "$( { git rev-parse HEAD 2>/dev/null || echo 00; } | cut -c1-2)"
part     := "KERAS_VERSIONS=$((16#" + hash + " % 2 + 2)) TURN=$((16#" + hash + " / 2 % 2))"

# The tests on clusters, two packages at a time: those that take longest begin first.
subjects := "./integration/frameworks ./integration/containers ./integration/pages ./integration/clients ./integration/storage ./integration/faults ./integration/experiments ./integration/guides ./integration/..."

# what there is
default:
    @{{ just_executable() }} --list --unsorted

# --- set-up: each makes what is missing, once, and says so -------------------------------------------

# the programs, into bin/
build: made ui
    @echo "building det-master, det, det-runner, det-remover, det-notice and det-gpu into bin/" >&2
    @mkdir -p bin
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det-master ./master
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det ./cli
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det-runner ./plugins/runner
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det-remover ./plugins/remover
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det-notice ./plugins/notice
    @[ "$(go env CGO_ENABLED)" = 1 ] || echo "no C compiler here: det-gpu knows simulated GPUs only" >&2
    @go build -trimpath -ldflags="-s -w" -o bin/det-gpu ./plugins/gpu

# what is made from the table of endpoints and from docstrings: the Python bindings, the types of the pages, the reference of the Python package
made:
    @go run ./master/v1/generate
    @if command -v python3 >/dev/null; then PYTHONPATH=plugins/harness PYTHONDONTWRITEBYTECODE=1 python3 -m reference; \
    else echo "no python3 here: det-master is built without the reference of the Python package" >&2; fi

# the pages in the browser, into webui/dist, from which they go into det-master
ui: made
    @bash webui/build.sh

# Nomad and Consul: found on PATH, or built once into the user's cache (minutes)
servers:
    @{{ ready }} nomad consul >/dev/null

# Vault, SeaweedFS and Traefik too, which only tests and clusters with --vault need (about fifteen minutes), and emulators of Google's and Azure's storage
test-servers: servers emulators
    @{{ ready }} vault weed nomad-driver-podman traefik nomad-autoscaler >/dev/null

# for tests: an emulator of Google Cloud Storage and, where there is Node, one of Azure's Blob Storage and an identity provider
emulators:
    @{{ ready }} fake-gcs-server >/dev/null
    @if command -v npm >/dev/null; then {{ ready }} azurite oidc-provider >/dev/null; \
    else echo "no npm here: storage in Azure and sign-in with a provider are not tested (Debian: apt-get install nodejs npm)" >&2; fi

# a Python environment in the user's cache: demo, tasks, harness or compat; prints its Python
venv name:
    @{{ ready }} python {{ name }}

# the environment with the unmodified client of Determined; prints its path
compat-venv:
    @dirname "$(dirname "$({{ ready }} python compat)")"

# --- the local cluster -------------------------------------------------------------------------------

# an example experiment on a local cluster, from nothing to its best checkpoint
demo: build servers
    @PATH="$PWD/bin:$PATH" exec bash nomad/demo.sh

# bring the local cluster up: just up, or with what det deploy local cluster-up takes
up *args: build
    @bin/det deploy local cluster-up {{ args }}

# Nomad's page in the browser, signed in
nomad-ui: build
    @bin/det deploy local nomad-ui

# take it down and keep its data
down: build
    @bin/det deploy local cluster-down

# which of its parts run, and where
status: build
    @bin/det deploy local status

# what a part has logged: just logs nomad
logs *args: build
    @bin/det deploy local logs {{ args }}

# take it down and remove its data
reset: build
    @bin/det deploy local reset

# the images in which tasks train, into the user's cache, without a registry: just images
images *names:
    @go run ./nomad/images/cmd/detent-images {{ names }}

# the newest wheels that the images may have, into nomad/images/*.lock
images-lock *names:
    @go run ./nomad/images/cmd/detent-images -lock nomad/images {{ names }}

# --- tests -------------------------------------------------------------------------------------------

# all the set-up, all the tests and every linter; a test that failed is repeated once, alone, at the end
test:
    @{{ part }} exec {{ again }} run {{ parts }} {{ just_executable() }}

# what the continuous integration runs: the same within 75 minutes, and the race detector on a quarter of the packages in what is left of them
ci:
    @{{ part }} exec {{ again }} run -limit 75m {{ parts }} -race "race $((16#{{ hash }} / 16 % 4))" {{ just_executable() }}

# what takes hours: all packages under the race detector, 200 seeds of the simulations, 2,000 random scenes of each kind, access control on, the fuzzer with 100 tries for each operation, and the benchmarks, which must run
nightly:
    @{{ again }} run -before build,test-servers,vet -lane "fuzz long,integration-acl,bench" -lane "~race,draws,sim,release-test,images-test,gpu-check-test,python-thorough,import-kills" {{ just_executable() }}

# repeat the tests that failed in a run and then passed alone: just flaky, or: just flaky -times 50, or, to forget those that pass each time: just flaky -forget
[positional-arguments]
flaky *args:
    @{{ again }} flaky "$@"

# go vet
vet:
    @echo "go vet" >&2
    @go vet ./... && cd nomad/autoscaler && go vet ./...

# the tests of the Go packages, on real servers (vet: just lint has it)
package-tests: made test-servers
    @echo "the tests of the Go packages" >&2
    @pure="$(go list $(printf './master/%s ' {{ pure }}))" && others="$(go list ./... | grep -vE '/integration|/plugins/gpu' | grep -vxF "$pure")" && \
        {{ again }} go {{ nocgo }} -flags "-vet=off -shuffle=on -parallel {{ parallel }} -timeout 45m" $others && \
        {{ again }} go {{ nocgo }} -flags "-vet=off -timeout 45m" $pure
    @{{ again }} go -flags "-vet=off -shuffle=on -timeout 45m" ./plugins/gpu/...
    @{{ again }} go {{ nocgo }} -C nomad/autoscaler -flags '-vet=off -shuffle=on' ./...

# the same under the race detector, without pure computation and what measures memory: about half an hour, or a quarter of the packages: just race 0 to just race 3
race part="all": test-servers
    #!/usr/bin/env bash
    # One function of a password's hash takes ten times its time under the detector, and has no goroutines; a
    # program under the detector waits a second at its end unless it is told not to, and tests start hundreds.
    set -euo pipefail
    packages=$(go list ./... | grep -vE '/integration|/master$|/master/(expconf|search|sched)(/|$)')
    [ "{{ part }}" = all ] || packages=$(awk -v part="{{ part }}" 'NR % 4 == part' <<<"$packages")
    {{ again }} go -env GORACE=atexit_sleep_ms=10 -flags '-race -vet=off -gcflags=golang.org/x/crypto/blowfish=-race=false -shuffle=on -timeout 60m' $packages

# the random scenes of pure packages, 2,000 of each kind in place of 100, in another order of the tests: just draws, or: just draws 10000
draws checks="2000":
    @{{ again }} go {{ nocgo }} -flags '-vet=off -count=1 -shuffle=on -timeout 180m' $(printf './master/%s ' {{ pure }})
    @{{ again }} go {{ nocgo }} -flags '-vet=off -count=1 -run Test -timeout 180m -rapid.checks={{ checks }}' $(grep -rl --include='*_test.go' 'pgregory.net/rapid"' $(printf 'master/%s ' {{ pure }}) | xargs -n1 dirname | sort -u | sed 's|^|./|')

# the control loop against random worlds, with as many seeds, and metrics of what is deleted, as wanted
sim seeds="200" metrics="50000":
    @go test ./master/control -run 'Simulation|NoneIsHeldUp' -sim {{ seeds }} -sim-metrics {{ metrics }} -timeout 180m

# an import whose process is killed at a hundred points, and one that is interrupted at a hundred (package-tests have a few of each)
import-kills: test-servers
    @DETENT_THOROUGH=1 {{ again }} go -flags '-vet=off -count=1 -run ^(TestKilled|TestInterrupted)$ -timeout 40m' ./master/importer

# a release, built whole and looked at
release-test: ui
    @DETENT_THOROUGH=1 {{ again }} go -flags '-count=1 -timeout 30m' ./nomad/release

# the image detent-small under Docker and Podman: the experiments of 2022, two nodes, a notebook, a shell
images-test: build test-servers
    @{{ again }} go -env DETENT_IMAGES=1 -flags '-vet=off -count=1 -run TestTrainingImage -timeout 60m' ./integration/frameworks

# packs what checks a machine with NVIDIA's GPUs and no network, and makes the checks here, on simulated GPUs where there are none: just gpu-check, or with wheels for the other machine's Python: just gpu-check -wheels FOLDER
gpu-check *args: build servers
    @go run ./nomad/gpucheck/cmd/detent-gpucheck {{ args }}

# the pack of gpu-check, and its checks on simulated GPUs, with a stand-in for NVIDIA's library, and with one for HashiCorp's plugin
gpu-check-test: build test-servers
    @DETENT_THOROUGH=1 {{ again }} go -flags '-vet=off -count=1 -timeout 40m' ./nomad/gpucheck

# the tests on clusters with access control on in Nomad, Consul and Vault, from docs/operate's own policies, and with those that take long
integration-acl: build test-servers
    @{{ ready }} python tasks >/dev/null && compat="$({{ ready }} python compat)" && \
        {{ again }} go {{ nocgo }} -env DETENT_INTEGRATION_ACL=1 -env DETENT_THOROUGH=1 -env "DETENT_COMPAT_PYTHON=$compat" -flags '-vet=off -count=1 -p 2 -timeout 120m' {{ subjects }}

# the tests on whole clusters: end to end, with faults, with Determined's own clients, in a browser
integration: made test-servers
    @echo "the tests on clusters" >&2
    @{{ ready }} python tasks >/dev/null && compat="$({{ ready }} python compat)" && \
        {{ again }} go {{ nocgo }} -env "DETENT_COMPAT_PYTHON=$compat" -flags "-vet=off -shuffle=on -p 2 -parallel {{ parallel }} -timeout 60m" {{ subjects }}

# random requests to each operation of the API: just fuzz (package-tests have it too), or hours long: just fuzz long, or the same requests once more: just fuzz short SEED
fuzz part="short" seed="":
    @echo "the fuzzer" >&2
    @{{ again }} go -env "DETENT_FUZZ={{ part }}" -env "DETENT_FUZZ_SEED={{ seed }}" -flags '-count=1 -v -timeout 180m' ./master/api/fuzz

# the tests of the Python package
harness-test: made emulators
    @echo "the tests of the harness" >&2
    @python="$({{ ready }} python harness)" && weed="$({{ ready }} weed)" && gcs="$({{ ready }} fake-gcs-server)" && \
        azurite="$(command -v npm >/dev/null && {{ ready }} azurite || true)" && \
        {{ again }} pytest -C plugins/harness -env "DETENT_WEED=$weed" -env "DETENT_FAKE_GCS=$gcs" -env "DETENT_AZURITE=$azurite" -- "$python" -m pytest

# Keras trials and TensorBoard, with Keras 2 and with Keras 3 (TensorFlow takes 2 GB of the cache); KERAS_VERSIONS=2 or 3: with one of them
keras-test: made
    @echo "the tests of the harness that need TensorFlow" >&2
    @python="$({{ ready }} python keras)" && test="{{ again }} pytest -C plugins/harness -env TF_CPP_MIN_LOG_LEVEL=3 -env TF_NUM_INTRAOP_THREADS=1 -env TF_NUM_INTEROP_THREADS=1" && versions="${KERAS_VERSIONS:-23}" && \
        two="$([[ "$versions" != *2* ]] || echo tests/test_keras.py)" && \
        $test -env TF_USE_LEGACY_KERAS=1 -- "$python" -m pytest -W ignore $two tests/test_data_tensorflow.py tests/test_tensorboard_task.py && \
        if [[ "$versions" == *3* ]]; then $test -env TF_USE_LEGACY_KERAS=0 -- "$python" -m pytest -W ignore tests/test_keras.py; fi

# PyTorch trials with one, two and four processes, DeepSpeed trials with one and two, Transformers and Lightning, and the launchers with PyTorch's and DeepSpeed's own
torch-test: made
    @echo "the tests of the harness that need PyTorch" >&2
    @python="$({{ ready }} python torch)" && test="{{ again }} pytest -C plugins/harness" && \
        $test -env OMP_NUM_THREADS=1 -- "$python" -m pytest -W ignore tests/test_pytorch.py tests/test_transformers.py tests/test_lightning.py tests/test_torch_batch_process.py tests/test_data_pytorch.py tests/test_examples_torch.py tests/test_reference.py tests/test_signals.py && \
        $test -env OMP_NUM_THREADS=1 -- "$python" -m pytest -W ignore tests/test_deepspeed.py && \
        $test -- "$python" -m pytest tests/test_launch.py tests/test_launchers.py -k 'options_of_torchrun or one_slot or killed_rank or gradients or one_saves or notes_its_signal or deepspeed_starts'

# all tests of the Python package, also those that take long, with both versions of Keras
python-thorough:
    @DETENT_THOROUGH=1 {{ just_executable() }} harness-test keras-test torch-test

# the pages: types, the tests of their parts, and what the first page costs (in a browser: ui-stories)
ui-test: ui
    @if command -v npm >/dev/null; then echo "the tests of the pages" >&2; (cd webui && node_modules/.bin/tsc --noEmit && node build.mjs --check) && {{ again }} vitest -C webui -- node_modules/.bin/vitest run; \
    else echo "no npm here: the pages are not tested (Debian: apt-get install nodejs npm)" >&2; fi

# what a person does with the pages, in Chromium on a real cluster; integration has them too
ui-stories: build servers
    @go test ./integration/pages -run 'TestUI$|TestEdges$' -count=1 -v -timeout 25m

# pictures of the main pages, light and dark, wide and narrow: just ui-pictures FOLDER
ui-pictures folder="/tmp/detent-pictures": build servers
    @DETENT_PICTURES="$(realpath -m "{{ folder }}")" go test ./integration/pages -run 'TestPictures$' -count=1 -v -timeout 25m

# the figures next to their yardsticks, about ten minutes: just bench, or a part: just bench -bench 'Reports|Logs', just bench search, just bench harness, just bench sched, just bench ui; beside an earlier commit's from the same run: just bench --against COMMIT
[positional-arguments]
bench *args:
    @if [[ "${1:-}" == search ]]; then \
        exec {{ just_executable() }} bench-search "${@:2}"; \
    elif [[ "${1:-}" == harness ]]; then \
        exec {{ just_executable() }} bench-harness "${@:2}"; \
    elif [[ "${1:-}" == sched ]]; then \
        exec {{ just_executable() }} bench-sched "${@:2}"; \
    elif [[ "${1:-}" == ui ]]; then \
        exec {{ just_executable() }} bench-cluster -bench 'Pages$' "${@:2}"; \
    elif [[ "${1:-}" == --against ]]; then \
        exec {{ just_executable() }} bench-against "${@:2}"; \
    else \
        exec {{ just_executable() }} bench-cluster "$@"; \
    fi

[private]
[positional-arguments]
bench-cluster *args: build servers
    @echo "benchmarks on a local cluster of their own" >&2
    @go test ./integration/bench -run '^$' -bench . -benchtime 1x -timeout 60m "$@"

# the first argument is the commit, the others are flags
[private]
[positional-arguments]
bench-against commit *args: build servers
    @go run ./integration/bench/against "${@:2}" "$1"

# how well searchers search, on recorded curves, beside Optuna on the same ones, and how fast they decide: just bench search, or without Optuna: just bench search ours, or with two metrics only: just bench search front, or what searches say about further trials: just bench search gain, or on other tables: just bench search --tables FOLDER
[positional-arguments]
bench-search *args:
    @if [[ "${1:-}" == gain && "${2:-}" == --tables ]]; then go test ./integration/bench/search -run TestGainsOfAFolder -count 1 -timeout 3h -v -tables "$(realpath "$3")" "${@:4}"; \
    elif [[ "${1:-}" == gain ]]; then go run ./integration/bench/search -gain "${@:2}"; \
    elif [[ "${1:-}" == --tables ]]; then go test ./integration/bench/search -run TestTablesOfAFolder -count 1 -timeout 3h -v -tables "$(realpath "$2")" "${@:3}"; \
    elif [[ "${1:-}" == ours ]]; then go run ./integration/bench/search; go run ./integration/bench/search -front -seeds 20; \
    elif [[ "${1:-}" == front ]]; then go run ./integration/bench/search -front -seeds 20 -optuna "$({{ ready }} python optuna)" "${@:2}"; \
    else go run ./integration/bench/search -optuna "$({{ ready }} python optuna)" "$@"; go run ./integration/bench/search -front -seeds 20 -optuna "$({{ ready }} python optuna)"; fi
    @if [[ "${1:-}" != --tables && "${1:-}" != front && "${1:-}" != gain ]]; then {{ just_executable() }} bench-cluster -bench Core; fi

# how the policies of a pool share 1,000 nodes in virtual time, beside FIFO and plain best fit, in some minutes: just bench sched, or: just bench sched -shape philly -load 1.3 -plot picture.svg
[positional-arguments]
bench-sched *args:
    @go run ./integration/bench/sched "$@"

# the Python package beside what people would use without it, about fifteen minutes: just bench harness, or parts of it: just bench harness imports ddp
[positional-arguments]
bench-harness *args:
    @torch="$({{ ready }} python torch)" && keras="$({{ ready }} python keras)" && compat="$({{ ready }} python compat)" && weed="$({{ ready }} weed)" && \
        cd plugins/harness && "$torch" -m bench --keras "$keras" --compat "$compat" --weed "$weed" "$@"

# the benchmarks of single packages
bench-packages:
    @go test -run '^$' -bench . -timeout 60m $(go list ./... | grep -v /integration)

# --- what people install -----------------------------------------------------------------------------

# archives, image, wheel, bill of materials and checksums, in a new folder; --here for this platform only
release out="release" *args: ui
    @python="$({{ ready }} python harness)" && go run ./nomad/release/cmd/detent-release --out "{{ out }}" --python "$python" {{ args }}

# --- the code ----------------------------------------------------------------------------------------

# every linter
lint: made
    @echo "golangci-lint" >&2
    @export CGO_ENABLED=0 && go run -exec "env CGO_ENABLED=1" {{ golangci }} ./plugins/gpu/... && go run {{ golangci }} $(go list -f "{{{{.Dir}}" ./... | grep -v /plugins/gpu) && \
        cd nomad/autoscaler && go run {{ golangci }} ./...
    @echo "ruff and mypy" >&2
    @python="$({{ ready }} python harness)" && cd plugins/harness && "$python" -m ruff check . && "$python" -m mypy

# format the code
fmt:
    @gofmt -w $(git ls-files -co --exclude-standard '*.go')
    @nomad="$({{ ready }} nomad)" && "$nomad" fmt nomad
    @python="$({{ ready }} python harness)" && cd plugins/harness && "$python" -m ruff format .

# record what tests compare with anew, and show what changed
golden:
    @go test $(grep -rlE --include='*_test.go' 'datadriven|"rewrite"' . | xargs -n1 dirname | sort -u) -rewrite
    @git --no-pager diff --stat

# what must be so before a change goes in: what is made can be made, formatted, tidy, licences named, documents whole
verify: made docs
    @test -z "$(gofmt -l $(git ls-files -co --exclude-standard '*.go'))" || { echo "not formatted (just fmt):" >&2; gofmt -l $(git ls-files -co --exclude-standard '*.go') >&2; exit 1; }
    @go mod tidy -diff
    @nomad="$({{ ready }} nomad)" && "$nomad" fmt -check nomad
    @go test ./nomad/servers -run Licences

# every link between the documents leads somewhere
docs:
    @echo "links of the documents" >&2
    @bash .ci/links
