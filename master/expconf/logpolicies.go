package expconf

import (
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"

	"github.com/detent-ml/detent/master/regex"
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
func (l *LogPolicies) decode(d *decoder, n *document.Node, path string) {
	if n.Kind != document.ListKind {
		d.expected(n, path, "a list", "")
		return
	}
	*l = make(LogPolicies, 0, len(n.Items))
	for i, item := range n.Items {
		at := document.Index(path, len(*l)) // the index in the result, which validation messages use; one policy of the old form can become several
		switch {
		case item.Kind == document.NullKind:
			d.problem(item, document.Index(path, i), "is empty", "")
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
func oldPolicy(n *document.Node) bool {
	if n.Kind != document.MapKind {
		return false
	}
	action := n.Get("action")
	return n.Get("actions") != nil || n.Get("signal") != nil || action != nil && action.Get("signal") != nil
}

// oldPolicies converts the old form: the first of the resulting policies has the name.
func (d *decoder) oldPolicies(n *document.Node, path string) LogPolicies {
	d.warn(n, path, "actions and signals are an old form of log policies; they are converted to policies with a name and an action")
	var p LogPolicy
	var actions []LogAction
	rest := *n
	rest.Fields = nil
	for _, f := range n.Fields {
		at := document.Join(path, f.Key)
		switch {
		case f.Key == "signal":
			d.into(f.Value, at, &p.Name)
		case f.Key == "actions" && f.Value.Kind == document.ListKind:
			for i, item := range f.Value.Items {
				d.oldAction(item, document.Index(at, i), &p, &actions)
			}
		case f.Key == "actions":
			d.expected(f.Value, at, "a list", "")
		case f.Key == "action":
			d.oldAction(f.Value, at, &p, &actions)
		default:
			rest.Fields = append(rest.Fields, f)
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
func (d *decoder) oldAction(n *document.Node, path string, p *LogPolicy, actions *[]LogAction) {
	if signal := n.Get("signal"); signal != nil && len(n.Fields) == 1 {
		d.into(signal, document.Join(path, "signal"), &p.Name)
		return
	}
	var a LogAction
	if d.into(n, path, &a); a != "" {
		*actions = append(*actions, a)
	}
}

func (a *LogAction) decode(d *decoder, n *document.Node, path string) {
	word := n
	if n.Kind == document.MapKind {
		if word = n.Get("type"); word == nil || len(n.Fields) > 1 {
			d.expected(n, path, "cancel_retries or exclude_node", "")
			return
		}
		d.warn(n, path, "{type: …} is an old form of an action; write only the word")
		path = document.Join(path, "type")
	}
	if word.Kind != document.StringKind || (word.Text != CancelRetries && word.Text != ExcludeNode) {
		d.expected(word, path, "cancel_retries or exclude_node", suggest(word.Text, []string{CancelRetries, ExcludeNode}, nil))
		return
	}
	*a = LogAction(word.Text)
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
		return *d.Name == optional.Value(p.Name) && *d.Pattern == optional.Value(p.Pattern) && p.Action == nil
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
		return "pattern " + optional.Value(p.Pattern) + " action " + string(optional.Value(p.Action))
	}))
}

func (l LogPolicies) check(k *checker, at string) {
	k.atMost(at, len(l), maxLogPolicies, "policies")
	names := map[string]bool{}
	for i, p := range l {
		here := document.Index(at, i)
		if p.Name != nil {
			if names[*p.Name] {
				k.fail(here+".name", fmt.Sprintf("%q is listed twice", document.Clip(*p.Name)), "")
			}
			names[*p.Name] = true
		}
		switch {
		case p.Pattern == nil && p.Name == nil:
			k.fail(here+".pattern", "is required by a policy without a name", "")
		case p.Pattern == nil && p.Action != nil:
			k.fail(here+".pattern", "is required by a policy with an action", "")
		case p.Pattern != nil:
			k.when(p.Name == nil && p.Action == nil, here+".action", "is required by a policy without a name", "cancel_retries or exclude_node")
			if _, err := regex.Compile(*p.Pattern); err != nil {
				k.fail(here+".pattern", "is not a regular expression: "+err.Error(), "")
			}
		}
	}
}
