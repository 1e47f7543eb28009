package jobfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/optional"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// hclReader finds the names of blocks and fields in a job in HCL. Names need no evaluation, so
// it finds all of them, also if values contain functions and variables.
type hclReader struct {
	problems []Problem
	driver   string
	jobs     int
	groups   int
	tasks    int
}

func (r *hclReader) fail(at hcl.Range, field, message string) {
	r.problems = append(r.problems, Problem{Line: at.Start.Line, Column: at.Start.Column, Field: field, Message: message})
}

// read finds all problems of a file, in the order of its lines.
func (r *hclReader) read(src []byte) {
	file, diagnostics := hclsyntax.ParseConfig(src, "", hcl.Pos{Line: 1, Column: 1})
	for _, d := range diagnostics {
		if d.Severity != hcl.DiagError {
			continue
		}
		r.fail(optional.Value(d.Subject), "", strings.TrimSuffix(d.Summary, ".")+". "+d.Detail)
	}
	if diagnostics.HasErrors() {
		return
	}
	body := file.Body.(*hclsyntax.Body)
	for _, a := range body.Attributes {
		r.fail(a.NameRange, a.Name, "expected a block job")
	}
	for _, b := range body.Blocks {
		switch b.Type {
		case "job":
			r.jobs++
			if r.jobs > 1 {
				r.fail(b.TypeRange, "job", "a pool has one job, and this is the second one")
			}
			r.check(b.Body, job(), "job")
		case "variable", "variables", "locals": // Nomad's parser evaluates them
		default:
			r.fail(b.TypeRange, b.Type, "expected a block job, variable or locals")
		}
	}
	whole := file.Body.(*hclsyntax.Body).Range()
	switch r.jobs {
	case 1:
		r.one(whole, "job.group", r.groups)
		if r.groups == 1 {
			r.one(whole, "job.group.task", r.tasks)
		}
	case 0:
		r.fail(hcl.Range{Start: hcl.Pos{Line: 1, Column: 1}}, "job", "is missing")
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
}

func (r *hclReader) one(at hcl.Range, field string, n int) {
	if n == 0 {
		r.fail(at, field, "is missing: the job of a pool has one group with one task")
	}
}

// check reports the names in a block that operators may not set.
func (r *hclReader) check(body *hclsyntax.Body, l *level, path string) {
	for _, a := range body.Attributes {
		field := path + "." + a.Name
		switch _, isBlock := l.blocks[a.Name]; {
		case l.free:
			if reason := l.refuse(a.Name); reason != "" {
				r.fail(a.NameRange, field, "cannot be set: "+reason)
			}
		case slices.Contains(l.attributes, a.Name):
			r.value(a, field)
		case isBlock && l.blocks[a.Name].free:
			r.names(a, l.blocks[a.Name], field)
		default:
			r.fail(a.NameRange, field, "cannot be set: "+why(a.Name))
		}
	}
	for _, b := range body.Blocks {
		r.block(b, l, path)
	}
}

func (r *hclReader) block(b *hclsyntax.Block, l *level, path string) {
	name, inner := b.Type, b.Body
	if name == "dynamic" && len(b.Labels) == 1 && !l.free {
		name, inner = b.Labels[0], &hclsyntax.Body{}
		for _, c := range b.Body.Blocks {
			if c.Type == "content" {
				inner = c.Body
			}
		}
	}
	field := path + "." + name
	if l.free {
		if reason := l.refuse(name); reason != "" {
			r.fail(b.TypeRange, field, "cannot be set: "+reason)
		}
		return // the driver's own words
	}
	next := l.blocks[name]
	if next == nil {
		r.fail(b.TypeRange, field, "cannot be set: "+why(name))
		return
	}
	switch {
	case path == "job" && name == "group":
		if r.groups++; r.groups > 1 {
			r.fail(b.TypeRange, field, "the job of a pool has one group, and this is another; Detent makes one for each node of an attempt")
		}
	case path == "job.group" && name == "task":
		if r.tasks++; r.tasks > 1 {
			r.fail(b.TypeRange, field, "the job of a pool has one task, and this is another")
		}
	}
	r.check(inner, next, field)
}

// names checks a map that is written as an attribute: meta = {…}.
func (r *hclReader) names(a *hclsyntax.Attribute, l *level, field string) {
	object, ok := a.Expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return // an expression: Check checks its result
	}
	for _, item := range object.Items {
		if key := constant(item.KeyExpr); key != "" {
			if reason := l.refuse(key); reason != "" {
				r.fail(item.KeyExpr.Range(), field+"."+key, "cannot be set: "+reason)
			}
		}
	}
}

// value checks the attributes of which the value matters here.
func (r *hclReader) value(a *hclsyntax.Attribute, field string) {
	switch text := constant(a.Expr); field {
	case "job.type":
		if text != "batch" {
			r.fail(a.NameRange, field, "cannot be set: "+why("type"))
		}
	case "job.group.task.driver":
		if text == "" {
			r.fail(a.Expr.Range(), field, "expected the driver's name, in quotes: the master reads it before it asks Nomad")
		}
		r.driver = text
	}
}

// constant is a text that needs no evaluation; "" for anything else.
func constant(e hclsyntax.Expression) string {
	v, diagnostics := e.Value(nil)
	if diagnostics.HasErrors() || !v.IsWhollyKnown() || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}
