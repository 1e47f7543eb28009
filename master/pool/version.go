package pool

import (
	"strings"
	"sync"

	version "github.com/hashicorp/go-version"
)

// compared has the results of comparisons of versions, which take some microseconds for each condition: the leader compares the same few
// versions of nodes with the same few conditions for each task, whenever a node changes.
var compared = struct {
	mu   sync.Mutex
	fits map[versions]bool
}{fits: map[versions]bool{}}

type versions struct{ operator, left, right string }

// maxCompared results are kept; then all are forgotten.
const maxCompared = 10_000

// ofVersion compares a version with conditions such as ">= 1.2, < 2". With the operator semver,
// a pre-release is ordered before its release; with version, a pre-release matches only if the
// condition names one.
func ofVersion(operator, left, right string) bool {
	key := versions{operator, left, right}
	compared.mu.Lock()
	fits, known := compared.fits[key]
	compared.mu.Unlock()
	if known {
		return fits
	}
	fits = compareVersions(operator, left, right)
	compared.mu.Lock()
	defer compared.mu.Unlock()
	if len(compared.fits) >= maxCompared {
		clear(compared.fits)
	}
	compared.fits[key] = fits
	return fits
}

func compareVersions(operator, left, right string) bool {
	if operator == "version" {
		v, err := version.NewVersion(left)
		if err != nil {
			return false
		}
		conditions, err := version.NewConstraint(right)
		return err == nil && conditions.Check(v)
	}
	v, err := version.NewSemver(left)
	if err != nil {
		return false
	}
	for _, condition := range strings.Split(right, ",") {
		condition = strings.TrimSpace(condition)
		text := strings.TrimLeft(condition, "<>=!")
		than, err := version.NewSemver(strings.TrimSpace(text))
		if err != nil || !holds(condition[:len(condition)-len(text)], v.Compare(than)) {
			return false
		}
	}
	return true
}
