# Everything there is to do with a checkout. Run it with ./justw where just is not installed.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Tools at exact versions, run from the Go module registry.
golangci := "go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0"
ready    := "go run ./nomad/servers/cmd/detent-servers"

# what there is
default:
    @{{ just_executable() }} --list --unsorted

# --- set-up: each makes what is missing, once, and says so -------------------------------------------

# the three programs, into bin/
build:
    @echo "building det-master, det and det-runner into bin/" >&2
    @mkdir -p bin
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det-master ./master
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det ./cli
    @CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/det-runner ./plugins/runner

# Nomad and Consul: found on PATH, or built once into the user's cache (minutes)
servers:
    @{{ ready }} nomad consul >/dev/null

# a Python environment in the user's cache: demo, harness or compat; prints its Python
venv name:
    @{{ ready }} python {{ name }}

# the environment with the unmodified client of Determined; prints its path
compat-venv:
    @dirname "$(dirname "$({{ ready }} python compat)")"

# --- the local cluster -------------------------------------------------------------------------------

# an example experiment on a local cluster, from nothing to its best checkpoint
demo: build servers
    @python="$({{ ready }} python demo)" && DETENT_DEMO_PYTHON="$python" PATH="$PWD/bin:$PATH" exec bash nomad/demo.sh

# bring the local cluster up
up: build
    @bin/det deploy local cluster-up

# take it down and keep its data
down: build
    @bin/det deploy local cluster-down

# how its parts are
status: build
    @bin/det deploy local status

# what a part has logged: just logs nomad
logs *args: build
    @bin/det deploy local logs {{ args }}

# take it down and remove its data
reset: build
    @bin/det deploy local reset

# --- tests -------------------------------------------------------------------------------------------

# all the set-up and all the tests
test: build servers vet go-test harness-test docs

# go vet
vet:
    @echo "go vet" >&2
    @go vet ./...

# the tests of the Go packages, with those on real servers
go-test: servers
    @echo "the Go tests, on real servers" >&2
    @compat="$({{ ready }} python compat)" && demo="$({{ ready }} python demo)" && \
        DETENT_COMPAT_PYTHON="$compat" DETENT_DEMO_PYTHON="$demo" go test -shuffle=on -timeout 30m ./...

# the control loop against a random world, with as many seeds as wanted
sim seeds="200":
    @go test ./master/control -run Simulation -sim {{ seeds }} -timeout 60m

# only whole stories and faults on real servers
integration: build servers
    @compat="$({{ ready }} python compat)" && demo="$({{ ready }} python demo)" && \
        DETENT_COMPAT_PYTHON="$compat" DETENT_DEMO_PYTHON="$demo" go test -count=1 -timeout 30m ./integration/...

# the tests of the Python package
harness-test:
    @echo "the tests of the harness" >&2
    @python="$({{ ready }} python harness)" && cd plugins/harness && "$python" -m pytest

# the figures next to their yardsticks, about ten minutes: just bench, or a part: just bench -bench Reports
bench *args: build servers
    @echo "benchmarks on a local cluster of their own" >&2
    @go test ./integration/bench -run '^$' -bench . -benchtime 1x -timeout 60m {{ args }}

# the benchmarks of single packages
bench-packages:
    @go test -run '^$' -bench . -timeout 60m $(go list ./... | grep -v /integration)

# --- the code ----------------------------------------------------------------------------------------

# every linter
lint: vet
    @echo "golangci-lint" >&2
    @{{ golangci }} run ./...
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

# what must be so before a change goes in: formatted, tidy, licences named, documents whole
verify: vet docs
    @test -z "$(gofmt -l $(git ls-files -co --exclude-standard '*.go'))" || { echo "not formatted (just fmt):" >&2; gofmt -l $(git ls-files -co --exclude-standard '*.go') >&2; exit 1; }
    @go mod tidy -diff
    @nomad="$({{ ready }} nomad)" && "$nomad" fmt -check nomad
    @go test ./nomad/servers -run Licences

# every link between the documents leads somewhere
docs:
    @echo "links of the documents" >&2
    @bash .ci/links
