package pool

import (
	"crypto/sha256"
	"sync"

	"github.com/detent-ml/detent/master/regex"
)

// The leader compares each waiting task with each node, again and again, and users write the expressions. So an expression is compiled
// once, and the result for a value is kept: nodes have few different values of most attributes.
var compared = struct {
	sync.Mutex
	expressions map[string]*regex.Expression
	results     map[[sha256.Size]byte]bool
}{expressions: map[string]*regex.Expression{}, results: map[[sha256.Size]byte]bool{}}

// Limits of what is kept; beyond them it is forgotten at once.
const (
	maxKeptExpressions = 500
	maxKeptResults     = 100_000
)

// matches reports whether a value matches an expression; an invalid one matches nothing.
func matches(expression, value string) bool {
	key := sha256.Sum256([]byte(expression + "\x00" + value))
	compared.Lock()
	defer compared.Unlock()
	if known, ok := compared.results[key]; ok {
		return known
	}
	e, ok := compared.expressions[expression]
	if !ok {
		e, _ = regex.Compile(expression) // nil if it is invalid: an earlier release may have stored it
		if len(compared.expressions) >= maxKeptExpressions {
			clear(compared.expressions)
		}
		compared.expressions[expression] = e
	}
	found := e != nil && e.MatchString(value)
	if len(compared.results) >= maxKeptResults {
		clear(compared.results)
	}
	compared.results[key] = found
	return found
}
