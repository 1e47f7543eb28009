package control

import "github.com/detent-ml/detent/master/regex"

// expressions compiles the regular expressions of comparisons once, and keeps what they match: an owner's
// comparisons are evaluated on each node. It keeps the values of two generations, the older of which it
// drops when the newer one is full. The work of a cycle is counted and limited, in total and for each user.
type expressions struct {
	now, before map[string]*expression
	kept        int // expressions and matches of now, in matches

	left   int64            // work in this cycle
	spent  map[string]int64 // of it, by users
	over   map[string]bool  // users for whom matches were left out in this cycle, with the result false
	user   string           // whose comparisons are evaluated
	exempt bool             // they are those of the operators: their work is not limited
}

// expression is a compiled expression, nil if it is invalid, with the texts that were matched.
type expression struct {
	compiled *regex.Expression
	matches  map[string]bool
}

const (
	// expressionWork is the work in a cycle: about a fifth of a second.
	expressionWork = 20_000_000
	// expressionShare is the part of it that one user has.
	expressionShare = expressionWork / 4
	// compileWork is the work of compiling an expression, for each of its bytes.
	compileWork = 500

	maxKept     = 100_000 // matches of a generation
	maxKeptOne  = 20_000  // matches that an expression takes into the next generation
	keptProgram = 400     // how many matches have the size of a compiled expression
)

func newExpressions() *expressions { return &expressions{now: map[string]*expression{}} }

// beginCycle allows the work of a cycle.
func (x *expressions) beginCycle() {
	x.left, x.spent, x.over = expressionWork, map[string]int64{}, map[string]bool{}
}

// of begins to evaluate the comparisons of a user.
func (x *expressions) of(user string, exempt bool) { x.user, x.exempt = user, exempt }

// match is a pool.Match.
func (x *expressions) match(text, pattern string) bool {
	e := x.expression(pattern)
	if e == nil || e.compiled == nil {
		return false
	}
	met, known := e.matches[text]
	if !known && x.take(e.compiled.Work(text)) {
		met = e.compiled.MatchString(text)
		e.matches[text] = met
		x.kept++
	}
	return met
}

// expression compiles an expression that is not known; nil if there is no work left for that.
func (x *expressions) expression(pattern string) *expression {
	if x.kept >= maxKept {
		x.now, x.before, x.kept = map[string]*expression{}, x.now, 0
	}
	e := x.now[pattern]
	if e != nil {
		return e
	}
	if e = x.before[pattern]; e != nil {
		if len(e.matches) > maxKeptOne { // the values of nodes that have gone are among them
			e.matches = map[string]bool{}
		}
	} else {
		if !x.take(compileWork * int64(len(pattern)+1)) {
			return nil
		}
		e = &expression{matches: map[string]bool{}}
		if compiled, err := regex.Compile(pattern); err == nil {
			e.compiled = compiled
		}
	}
	x.now[pattern] = e
	x.kept += keptProgram + len(e.matches)
	return e
}

// take reports whether there was enough left for some work, and counts it.
func (x *expressions) take(work int64) bool {
	switch {
	case x.exempt:
	case work > min(x.left, expressionShare-x.spent[x.user]):
		x.over[x.user] = true
		return false
	default:
		x.left -= work
		x.spent[x.user] += work
	}
	return true
}
