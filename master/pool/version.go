package pool

import (
	"strings"

	version "github.com/hashicorp/go-version"
)

// ofVersion compares a version with conditions such as ">= 1.2, < 2". With the operator semver,
// a pre-release is ordered before its release; with version, a pre-release matches only if the
// condition names one.
func ofVersion(operator, left, right string) bool {
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
