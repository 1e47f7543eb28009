package jobspecs

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/detent-ml/detent/master/spelling"
)

// Limits on texts of users, in characters, after plain has changed them.
const (
	maxTitle = 80
	maxMeta  = 256
	// Nomad rejects a longer description.
	maxDescription = 1000
)

// plain returns a text for a field of a job: one line of limited length, without anything that
// Nomad or HCL would interpolate ("${…}", "%{…}", "{{…}}").
func plain(s string, limit int) string {
	var b strings.Builder
	n := 0
	var last rune
	for _, r := range strings.TrimSpace(s) {
		switch {
		case unicode.IsControl(r) || !unicode.IsPrint(r):
			r = ' '
		case r == '{' && (last == '$' || last == '%' || last == '{'):
			b.WriteRune(' ')
		case r == '}' && last == '}':
			b.WriteRune(' ')
		}
		if n++; n > limit {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		last = r
	}
	return strings.TrimSpace(b.String())
}

// markdown escapes Markdown and HTML in a plain text.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]()#+-.!|~:@/$%\"'", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// displayName is the name of a task for users: "experiment 12 trial 34".
func (t *Task) displayName() string {
	switch {
	case t.ExperimentID > 0 && t.TrialID > 0:
		return fmt.Sprintf("experiment %d trial %d", t.ExperimentID, t.TrialID)
	case t.ExperimentID > 0:
		return fmt.Sprintf("experiment %d %s", t.ExperimentID, t.kind())
	default:
		return t.kind() + " " + plain(t.TaskID, maxTitle)
	}
}

func (t *Task) kind() string {
	return plain(strings.ReplaceAll(strings.ToLower(t.Type), "_", " "), maxTitle)
}

// jobName is what Nomad's lists show.
func (t *Task) jobName() string {
	name := t.displayName()
	if title := plain(t.Title, maxTitle); title != "" {
		name += " (" + title + ")"
	}
	return fmt.Sprintf("%s run %d", name, t.Run)
}

// description is what an operator reads on the job's page in Nomad's UI.
func (t *Task) description() string {
	what := t.displayName()
	var b strings.Builder
	fmt.Fprintf(&b, "**%s%s**", strings.ToUpper(what[:1]), markdown(what[1:]))
	if title := plain(t.Title, maxTitle); title != "" {
		fmt.Fprintf(&b, " — %s", markdown(title))
	}
	slots := 0
	for _, m := range t.Members {
		slots += len(m.SlotIDs)
	}
	fmt.Fprintf(&b, "\n\n- Owner: %s\n- Cluster: %s, pool %s\n- Run %d, %s on %s\n",
		markdown(plain(t.Owner, maxTitle)), markdown(plain(t.ClusterName, maxTitle)), markdown(plain(t.Pool.Name, maxTitle)),
		t.Run, spelling.Count(slots, "slot"), spelling.Count(len(t.Members), "node"))
	fmt.Fprintf(&b, "\nDetent submitted this job, watches it and ends it. It is one attempt: Nomad does not restart it, Detent does, as a new job.\n")
	if log, end := t.commands(); end != "" {
		fmt.Fprintf(&b, "\nRead its log: `%s`. End it: `%s`.\n", log, end)
	} else if log != "" {
		fmt.Fprintf(&b, "\nRead its log: `%s`.\n", log)
	}
	if text := b.String(); len(text) < maxDescription {
		return text
	}
	// Only text of unusual characters, which need many bytes, is so long.
	return fmt.Sprintf("**%s%s**\n", strings.ToUpper(what[:1]), markdown(what[1:]))
}

// commands are the commands of det that print a task's log and that end it. For a garbage
// collection there is no command that ends it: it should run to its end.
func (t *Task) commands() (log, end string) {
	switch {
	case t.TrialID > 0:
		return fmt.Sprintf("det trial logs -f %d", t.TrialID), fmt.Sprintf("det trial kill %d", t.TrialID)
	case slices.Contains([]string{"COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD"}, t.Type) && allocationID.MatchString(t.TaskID):
		return "det task logs -f " + t.TaskID, "det " + strings.ToLower(t.Type) + " kill " + t.TaskID
	case t.Type == "GENERIC" && allocationID.MatchString(t.TaskID):
		return "det task logs -f " + t.TaskID, "det task kill " + t.TaskID
	case t.Type == CheckpointGC && allocationID.MatchString(t.TaskID):
		return "det task logs -f " + t.TaskID, ""
	default:
		return "", ""
	}
}

// safeLinks keeps the links to http and https.
func safeLinks(links []Link) []Link {
	var out []Link
	for _, l := range links {
		u, err := url.Parse(l.URL)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil {
			out = append(out, Link{plain(l.Label, maxTitle), u.String()})
		}
	}
	return out
}
