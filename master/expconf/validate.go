package expconf

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"

	"github.com/detent-ml/detent/master/names"
)

// checker collects the problems of a configuration and finds their positions in its documents.
type checker struct {
	pos      *document.Positions
	problems []document.Problem
	unknown  int // names of hyperparameters that there are not
}

func (k *checker) fail(path, message, hint string) {
	at := k.pos.Find(path)
	k.problems = append(k.problems, document.Problem{
		File: at.File, Line: at.Line, Column: at.Column, Path: path, Message: message, Hint: hint})
}

// Validate reports everything that prevents the experiment from running, as an Errors, or nil.
// Set Unmanaged first for an experiment that runs outside of the cluster.
func (c Config) Validate() error {
	k := &checker{pos: c.pos}
	k.section("", &c)
	c.checkIdentity(k)
	c.checkSpace(k)
	c.checkSlots(k)
	c.checkTrialClass(k)
	k.stored(&c)
	return document.AsError(k.problems)
}

// ValidateSearch reports what prevents the search from running; the rest of the configuration
// need not be complete.
func (c Config) ValidateSearch() error {
	k := &checker{pos: c.pos}
	k.section("searcher", &c.Searcher)
	c.checkSpace(k)
	return document.AsError(k.problems)
}

// Problem returns a problem at a field, as Validate does.
func (c Config) Problem(path, message, hint string) error {
	k := &checker{pos: c.pos}
	k.fail(path, message, hint)
	return document.AsError(k.problems)
}

// checkSpace checks the hyperparameters, for which some searchers have rules.
func (c Config) checkSpace(k *checker) {
	const at = "hyperparameters"
	several := ""
	if len(c.Searcher.Metrics) > 0 {
		several = " with several metrics"
	}
	c.Hyperparameters.check(k, at, c.Searcher.Name == Grid)
	if c.Hyperparameters.checkConditions(k); c.Searcher.Name == Grid && !c.Restricted() {
		if points, most := c.Hyperparameters.points(), c.Searcher.MostTrials(); points > float64(most) {
			k.fail(at, fmt.Sprintf("the grid has %s points, each of them a trial; at most %d are run", short(points), most)+several,
				"lower some counts, or use the random searcher")
		}
	}
	c.Searcher.checkConstraints(k, c.Hyperparameters)
	c.checkStarts(k)
	c.checkTrial(k)
	c.checkVolume(k)
}

func (c Config) checkIdentity(k *checker) {
	if strings.TrimSpace(c.Name) == "" {
		k.fail("name", "is empty", "omit it to use a generated name")
	} else if p := names.Problem(c.Name, names.MaxText); p != "" {
		k.fail("name", p, "")
	}
	if p := names.TooLong(optional.Value(c.Description), names.MaxText); p != "" {
		k.fail("description", p, "")
	}
	if at, p := names.LabelProblem(c.Labels); p != "" && at < 0 {
		k.fail("labels", p, "")
	} else if p != "" {
		k.fail(document.Index("labels", at), p, "")
	}
	switch {
	case c.Workspace == "" && c.Project != "":
		k.fail("project", "requires workspace", "name the workspace of the project")
	case c.Workspace != "" && c.Project == "":
		k.fail("workspace", "requires project", "name a project of the workspace")
	}
	switch {
	case c.Entrypoint != nil && c.Entrypoint.Empty():
		k.fail("entrypoint", "is empty", "")
	case c.Entrypoint == nil && !c.Unmanaged:
		k.fail("entrypoint", "is required", "name the program of a trial, such as python3 train.py")
	}
	if c.Entrypoint != nil {
		k.words("entrypoint", c.Entrypoint.Args)
		k.line("entrypoint", c.Entrypoint.Line, maxWord-1)
	}
}

// Checks that several sections use.

func (k *checker) required(path, value, by string) {
	k.when(strings.TrimSpace(value) == "", path, strings.TrimSpace("is required "+by), "")
}

// text checks a name that lists show: its length, and that it is one line.
func (k *checker) text(path, value string, limit int) {
	if n := utf8.RuneCountInString(value); n > limit {
		k.fail(path, fmt.Sprintf("has %d characters; at most %d are allowed", n, limit), "")
	}
	k.when(strings.ContainsFunc(value, unicode.IsControl), path, "must be one line without control characters", "")
}

func (k *checker) atLeast(path string, value, low int) {
	if value < low {
		k.fail(path, fmt.Sprintf("must be at least %d, found %d", low, value), "")
	}
}

func (k *checker) atMost(path string, count, high int, what string) {
	if count > high {
		k.fail(path, fmt.Sprintf("has %d %s; at most %d are allowed", count, what, high), "")
	}
}

func (k *checker) positive(path string, l *Length) {
	switch {
	case l == nil:
	case l.Units <= 0:
		k.fail(path, fmt.Sprintf("must be greater than 0, found %s", *l), "")
	case l.Units > maxUnits:
		k.fail(path, fmt.Sprintf("must be at most %d, found %s", int64(maxUnits), *l), "")
	}
}

func (k *checker) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		k.fail(path, fmt.Sprintf("cannot be %q", document.Clip(value)), suggestOf(value, allowed))
	}
}

func (k *checker) fraction(path string, value *float64, high float64) {
	switch {
	case value == nil:
		k.fail(path, "is required by the pbt searcher", "")
	case !(*value >= 0 && *value <= high):
		k.fail(path, fmt.Sprintf("must be from 0 to %v, found %v", high, *value), "")
	}
}

func (k *checker) absolute(at, value string) {
	switch {
	case value == "":
		k.fail(at, "is required", "")
	case !path.IsAbs(value):
		k.fail(at, fmt.Sprintf("must be an absolute path, found %q", document.Clip(value)), "")
	case len(value) > 4096:
		k.fail(at, "is longer than 4096 characters", "")
	}
}

func (k *checker) prefix(at, value string) {
	k.line(at, value, 4096)
	if slices.Contains(strings.Split(value, "/"), "..") {
		k.fail(at, fmt.Sprintf("must not contain .., found %q", document.Clip(value)), "")
	}
}

func (k *checker) propagation(at, value string) {
	k.oneOf(at, value, "private", "rprivate", "shared", "rshared", "slave", "rslave")
}
