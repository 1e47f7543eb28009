package expconf

import (
	"fmt"
	"regexp"
	"slices"
)

// What a log policy does when a line of a trial's log matches.
const (
	CancelRetries = "cancel_retries" // a failure is final
	ExcludeNode   = "exclude_node"   // retries run on other nodes
)

// LogAction is one of the actions above.
type LogAction string

func (a *LogAction) decode(d *decoder, n *node, path string) {
	word := n
	if n.kind == mapKind {
		if word = n.get("type"); word == nil || len(n.fields) > 1 {
			d.expected(n, path, "cancel_retries or exclude_node", "")
			return
		}
		d.warn(n, path, "{type: …} is the old form of an action and is read as the word alone")
		path = join(path, "type")
	}
	if word.kind != stringKind || (word.text != CancelRetries && word.text != ExcludeNode) {
		hint := ""
		if near := nearest(word.text, []string{CancelRetries, ExcludeNode}); near != "" {
			hint = "did you mean " + near + "?"
		}
		d.expected(word, path, "cancel_retries or exclude_node", hint)
		return
	}
	*a = LogAction(word.text)
}

// LogPolicy names lines of a log and what to do when one appears. A policy
// with a name and no pattern turns off the one of that name below it.
type LogPolicy struct {
	Name    *string    `json:"name,omitempty"`
	Pattern *string    `json:"pattern,omitempty"`
	Action  *LogAction `json:"action,omitempty"`
}

// everybodys is whether the policy is one that a cluster has by itself.
func (p LogPolicy) everybodys() bool {
	return slices.ContainsFunc(DefaultLogPolicies(), func(d LogPolicy) bool {
		return *d.Name == first("", p.Name) && *d.Pattern == first("", p.Pattern) && p.Action == nil
	})
}

// LogPolicies is a list that collects when documents are merged: a policy
// displaces the one of the same name.
type LogPolicies []LogPolicy

func (l LogPolicies) onto(under any) any {
	return LogPolicies(collect(l, under.(LogPolicies), func(p LogPolicy) string {
		if p.Name != nil {
			return "name " + *p.Name
		}
		return "pattern " + first("", p.Pattern) + " action " + string(first("", p.Action))
	}))
}

func (l LogPolicies) check(k *checker, at string) {
	k.atMost(at, len(l), 100, "policies")
	names := map[string]bool{}
	for i, p := range l {
		here := index(at, i)
		if p.Name != nil {
			k.required(here+".name", *p.Name, "")
			k.text(here+".name", *p.Name, 128)
			if names[*p.Name] {
				k.fail(here+".name", fmt.Sprintf("%q is listed twice", clip(*p.Name)), "")
			}
			names[*p.Name] = true
		}
		switch {
		case p.Pattern == nil && p.Name == nil:
			k.fail(here+".pattern", "is required by a policy without a name", "")
		case p.Pattern == nil && p.Action != nil:
			k.fail(here+".pattern", "is required by a policy with an action", "")
		case p.Pattern != nil:
			if p.Name == nil && p.Action == nil {
				k.fail(here+".action", "is required by a policy without a name", "cancel_retries or exclude_node")
			}
			if _, err := regexp.Compile(*p.Pattern); err != nil {
				k.fail(here+".pattern", "is not a regular expression: "+err.Error(), "")
			}
			k.atMost(here+".pattern", len(*p.Pattern), 4096, "characters")
		}
	}
}
