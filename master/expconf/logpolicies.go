package expconf

import (
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/regex"
	"github.com/detent-ml/detent/master/spelling"
)

// The actions of a log policy.
const (
	CancelRetries = "cancel_retries" // a failure is final
	ExcludeNode   = "exclude_node"   // retries run on other nodes
)

// maxLogPolicies is how many a configuration may have: masters and runners match each line with each.
const maxLogPolicies = 50

// LogAction is one of the actions above.
type LogAction string

// decode accepts the current and the old form. In the old form, which is Determined's, a policy
// had a list of actions and, as its name, a signal among them; each action becomes a policy.
func (l *LogPolicies) decode(d *decoder, n *node, path string) {
	if n.kind != listKind {
		d.expected(n, path, "a list", "")
		return
	}
	*l = make(LogPolicies, 0, len(n.items))
	for i, item := range n.items {
		at := index(path, len(*l)) // the index in the result, which validation messages use; one policy of the old form can become several
		switch {
		case item.kind == nullKind:
			d.problem(item, index(path, i), "is empty", "")
		case oldPolicy(item):
			*l = append(*l, d.oldPolicies(item, at)...)
		default:
			var p LogPolicy
			d.into(item, at, &p)
			*l = append(*l, p)
		}
	}
}

// oldPolicy recognizes the form with actions and signals.
func oldPolicy(n *node) bool {
	if n.kind != mapKind {
		return false
	}
	action := n.get("action")
	return n.get("actions") != nil || n.get("signal") != nil || action != nil && action.get("signal") != nil
}

// oldPolicies converts the old form: the first of the resulting policies has the name.
func (d *decoder) oldPolicies(n *node, path string) LogPolicies {
	d.warn(n, path, "actions and signals are an old form of log policies; they are converted to policies with a name and an action")
	var p LogPolicy
	var actions []LogAction
	rest := *n
	rest.fields = nil
	for _, f := range n.fields {
		at := join(path, f.key)
		switch {
		case f.key == "signal":
			d.into(f.value, at, &p.Name)
		case f.key == "actions" && f.value.kind == listKind:
			for i, item := range f.value.items {
				d.oldAction(item, index(at, i), &p, &actions)
			}
		case f.key == "actions":
			d.expected(f.value, at, "a list", "")
		case f.key == "action":
			d.oldAction(f.value, at, &p, &actions)
		default:
			rest.fields = append(rest.fields, f)
		}
	}
	d.into(&rest, path, &p)
	list := LogPolicies{p}
	for i, a := range actions {
		if i == 0 {
			list[0].Action = &a
			continue
		}
		list = append(list, LogPolicy{Pattern: p.Pattern, Action: &a})
	}
	return list
}

// oldAction converts an action or a signal of the old form.
func (d *decoder) oldAction(n *node, path string, p *LogPolicy, actions *[]LogAction) {
	if signal := n.get("signal"); signal != nil && len(n.fields) == 1 {
		d.into(signal, join(path, "signal"), &p.Name)
		return
	}
	var a LogAction
	if d.into(n, path, &a); a != "" {
		*actions = append(*actions, a)
	}
}

func (a *LogAction) decode(d *decoder, n *node, path string) {
	word := n
	if n.kind == mapKind {
		if word = n.get("type"); word == nil || len(n.fields) > 1 {
			d.expected(n, path, "cancel_retries or exclude_node", "")
			return
		}
		d.warn(n, path, "{type: …} is an old form of an action; write only the word")
		path = join(path, "type")
	}
	if word.kind != stringKind || (word.text != CancelRetries && word.text != ExcludeNode) {
		hint := ""
		if near := spelling.Nearest(word.text, []string{CancelRetries, ExcludeNode}); near != "" {
			hint = "did you mean " + near + "?"
		}
		d.expected(word, path, "cancel_retries or exclude_node", hint)
		return
	}
	*a = LogAction(word.text)
}

// LogPolicy has a pattern for log lines and an action for a match. A policy with a name and no
// pattern disables the policy of that name in the document under this one.
type LogPolicy struct {
	Name    *string    `json:"name,omitempty" check:"required; text 128"`
	Pattern *string    `json:"pattern,omitempty"`
	Action  *LogAction `json:"action,omitempty"`
}

// isDefault reports whether the policy is one of the cluster's defaults.
func (p LogPolicy) isDefault() bool {
	return slices.ContainsFunc(DefaultLogPolicies(), func(d LogPolicy) bool {
		return *d.Name == first("", p.Name) && *d.Pattern == first("", p.Pattern) && p.Action == nil
	})
}

// LogPolicies is a list; Merge combines the entries of both documents, and a policy replaces
// one of the same name.
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
	k.atMost(at, len(l), maxLogPolicies, "policies")
	names := map[string]bool{}
	for i, p := range l {
		here := index(at, i)
		if p.Name != nil {
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
			if _, err := regex.Compile(*p.Pattern); err != nil {
				k.fail(here+".pattern", "is not a regular expression: "+err.Error(), "")
			}
		}
	}
}
