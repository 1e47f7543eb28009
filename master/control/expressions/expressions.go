// Package expressions evaluates the comparisons of constraints and affinities on nodes for the control loop, with bounded work: in total
// for a cycle, and for each user. It is pure, and belongs to one goroutine.
package expressions

import (
	"strings"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/regex"
)

// A Matcher compiles the regular expressions of comparisons once, and keeps what they and comparisons of versions
// match: an owner's comparisons are evaluated on each node. It keeps the values of two generations, the older of which it
// drops when the newer one is full. The work of a cycle is counted and limited, in total and for each user.
type Matcher struct {
	now, before map[comparison]*expression
	kept        int // expressions and matches of now, in matches

	left   int64            // work in this cycle
	spent  map[string]int64 // of it, by users
	over   map[string]bool  // users for whom matches were left out in this cycle, with the result false
	user   string           // whose comparisons are evaluated
	Exempt bool             // they are those of the operators: their work is not limited
}

// expression is a value of a comparison with the texts that were matched.
type expression struct {
	compiled *regex.Expression // nil if it is invalid, or has versions
	matches  map[string]bool
}

// comparison is the key of an expression.
type comparison struct{ operator, value string }

const (
	// cycleWork is the work in a cycle: about a fifth of a second.
	cycleWork = 20_000_000
	// Share is the part of it that one user has.
	Share = cycleWork / 4
	// compileWork is the work of compiling an expression, for each of its bytes.
	compileWork = 500
	// versionWork is the work of a comparison of versions, for each of its conditions, and versionBytes that for each byte.
	versionWork  = 600
	versionBytes = 80
	// textBytes is the work of a comparison of long numbers or lists, for each byte.
	textBytes = 10
	// PlainWork is the work of any other comparison with one node, NodeWork what a choice takes for each node besides, and
	// ModelWork for each model of devices.
	PlainWork = 18
	NodeWork  = 30
	ModelWork = 400

	maxKept     = 100_000 // matches of a generation
	maxKeptOne  = 20_000  // matches that an expression takes into the next generation
	keptProgram = 400     // how many matches have the size of a compiled expression
)

// New returns a matcher that knows nothing yet.
func New() *Matcher { return &Matcher{now: map[comparison]*expression{}} }

// BeginCycle allows the work of a cycle.
func (x *Matcher) BeginCycle() {
	x.left, x.spent, x.over = cycleWork, map[string]int64{}, map[string]bool{}
}

// Of begins to evaluate the comparisons of a user.
func (x *Matcher) Of(user string, exempt bool) { x.user, x.Exempt = user, exempt }

// Match is a pool.Match. What is no regular expression is compared as a version is: it has nothing to compile.
func (x *Matcher) Match(operator, text, value string) bool {
	key, versions := comparison{operator, value}, operator != "regexp"
	paid := versions && x.now[key] == nil && x.before[key] == nil
	if paid && !x.take(Work(operator, text, value)) { // before its entry pushes out others
		return false
	}
	e := x.expression(key)
	if e == nil || !versions && e.compiled == nil {
		return false
	}
	met, known := e.matches[text]
	switch {
	case known:
		return met
	case !versions && x.take(e.compiled.Work(text)):
		met = e.compiled.MatchString(text)
	case versions && (paid || x.take(Work(operator, text, value))):
		met = pool.Matches(operator, text, value)
	default:
		return false
	}
	e.matches[text] = met
	x.kept++
	return met
}

// Work is the work of a comparison of versions, or of long numbers or lists.
func Work(operator, text, value string) int64 {
	if operator != "version" && operator != "semver" {
		return PlainWork + textBytes*int64(len(text)+len(value))
	}
	return versionWork*int64(strings.Count(value, ",")+1) + versionBytes*int64(len(text)+len(value))
}

// expression finds the value of a comparison, and compiles one that is not known; nil if there is no work left for that.
func (x *Matcher) expression(of comparison) *expression {
	if x.kept >= maxKept {
		x.now, x.before, x.kept = map[comparison]*expression{}, x.now, 0
	}
	e := x.now[of]
	if e != nil {
		return e
	}
	if e = x.before[of]; e != nil {
		if len(e.matches) > maxKeptOne { // the values of nodes that have gone are among them
			e.matches = map[string]bool{}
		}
	} else {
		e = &expression{matches: map[string]bool{}}
		if of.operator == "regexp" {
			if !x.take(compileWork * int64(len(of.value)+1)) {
				return nil
			}
			if compiled, err := regex.Compile(of.value); err == nil {
				e.compiled = compiled
			}
		}
	}
	x.now[of] = e
	x.kept += keptProgram + len(e.matches)
	return e
}

// Any reports whether the user has any work left.
func (x *Matcher) Any() bool { return x.left > 0 && !x.over[x.user] }

// Over reports whether matches of the user were left out in this cycle.
func (x *Matcher) Over() bool { return x.over[x.user] }

// Left is the work that is left in this cycle, and Spent what a user has spent of it.
func (x *Matcher) Left() int64             { return x.left }
func (x *Matcher) Spent(user string) int64 { return x.spent[user] }

// Spend counts work that was done and cannot be divided. So the first choice of a user in a cycle is always completed.
func (x *Matcher) Spend(work int64) {
	if work <= 0 {
		return
	}
	x.left -= work
	if x.spent[x.user] += work; x.spent[x.user] >= Share {
		x.over[x.user] = true
	}
}

// take reports whether there was enough left for some work, and counts it.
func (x *Matcher) take(work int64) bool {
	switch {
	case x.Exempt:
	case work > min(x.left, Share-x.spent[x.user]):
		x.over[x.user] = true
		return false
	default:
		x.left -= work
		x.spent[x.user] += work
	}
	return true
}
