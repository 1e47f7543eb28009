package pool

import (
	"crypto/sha256"
	"time"

	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/regex"
)

// The leader compares each waiting task with each node, again and again, and users write the expressions. So an expression is compiled
// once, and the result for a value is kept: nodes have few different values of most attributes.
var (
	expressions = memory.New[string, *regex.Expression](0, 500)
	results     = memory.New[[sha256.Size]byte, bool](0, 100_000)
)

// matches reports whether a value matches an expression; an invalid one matches nothing.
func matches(expression, value string) bool {
	key := sha256.Sum256([]byte(expression + "\x00" + value))
	if known, _, ok := results.Get(key, time.Time{}); ok {
		return known
	}
	e, _, ok := expressions.Get(expression, time.Time{})
	if !ok {
		e, _ = regex.Compile(expression) // nil if it is invalid: an earlier release may have stored it
		expressions.Put(expression, e, time.Time{})
	}
	found := e != nil && e.MatchString(value)
	results.Put(key, found, time.Time{})
	return found
}
