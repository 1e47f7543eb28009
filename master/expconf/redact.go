package expconf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/detent-ml/detent/master/document"
)

// hidden replaces a secret in what the API shows.
const hidden = "********"

// Secrecy says from whom something of a configuration is hidden.
type Secrecy uint8

// What is hidden of a configuration.
const (
	NothingHidden    Secrecy = iota
	HiddenFromOthers         // values that only the owner and admins see
	HiddenFromAll            // values that nobody sees
)

// secret is what a tag `secret` says about a field.
type secret uint8

const (
	public        secret = iota
	secretValue          // nobody sees the value
	secretQuery          // an address: nobody sees its query, its fragment, and what is before its host
	secretSecrets        // a mapping: nobody sees the values below its key `secrets`
	secretStorage        // a mapping with the fields of a checkpoint storage
	ownVariables         // a list of NAME=value, or such a list for each kind of slot: others than the owner see only the names
	ownValues            // a mapping of any shape: others than the owner see only the keys
)

// secretTags are the values of the tag.
var secretTags = map[string]secret{"": public, "true": secretValue, "query": secretQuery, "secrets": secretSecrets, "storage": secretStorage,
	"variables": ownVariables, "values": ownValues}

// A hider makes the tree of a configuration that a reader may see. It follows the tags of the sections, so a field is hidden because of its
// place in the configuration, and not because of its name or of how the configuration is written.
type hider struct {
	own   bool    // the reader is the owner, or an admin
	found Secrecy // what the tree has
}

// section returns a section, or a list of sections, as the reader may see it. of lists the sections that it may be,
// because a template is for several kinds of tasks. Others than the owner do not see a field that none of them has: it may
// be a secret of another release.
func (h *hider) section(n *document.Node, of ...*section) *document.Node {
	switch n.Kind {
	case document.NullKind:
		return n
	case document.ListKind:
		return n.Mapped(func(_ string, item *document.Node) *document.Node { return h.section(item, of...) })
	case document.MapKind:
		return n.Mapped(func(name string, value *document.Node) *document.Node {
			for _, s := range of {
				if i, known := s.byName[name]; known {
					return h.field(value, &s.fields[i])
				}
			}
			return h.values(value)
		})
	}
	return h.values(n)
}

func (h *hider) field(n *document.Node, f *tagged) *document.Node {
	switch {
	case n.Kind == document.NullKind:
		return n
	case f.secret == secretValue:
		return h.mask(n, HiddenFromAll)
	case f.secret == secretQuery:
		return h.address(n)
	case f.secret == secretStorage:
		return h.section(n, sectionOf(reflect.TypeFor[CheckpointStorage]()))
	case f.secret == secretSecrets && n.Kind == document.MapKind:
		return n.Mapped(func(name string, value *document.Node) *document.Node {
			if name == "secrets" {
				return h.tree(value, HiddenFromAll)
			}
			return value
		})
	case f.secret == ownVariables:
		return h.variables(n)
	case f.secret == ownValues:
		return h.values(n)
	case f.part.hides:
		return h.section(n, &f.part)
	}
	return n
}

// mask hides a value of that secrecy.
func (h *hider) mask(n *document.Node, as Secrecy) *document.Node {
	if n.Kind == document.NullKind || n.Kind == document.StringKind && (n.Text == hidden || n.Text == "") {
		return n
	}
	h.found = max(h.found, as)
	if as == HiddenFromOthers && h.own {
		return n
	}
	return &document.Node{Kind: document.StringKind, Text: hidden}
}

// tree hides all values of a tree, and keeps its keys.
func (h *hider) tree(n *document.Node, as Secrecy) *document.Node {
	if n.Kind == document.MapKind || n.Kind == document.ListKind {
		return n.Mapped(func(_ string, value *document.Node) *document.Node { return h.tree(value, as) })
	}
	return h.mask(n, as)
}

// values hides from others all values of a tree.
func (h *hider) values(n *document.Node) *document.Node { return h.tree(n, HiddenFromOthers) }

// variables hides from others the values of a list of NAME=value, in all forms of such lists.
func (h *hider) variables(n *document.Node) *document.Node {
	if n.Kind == document.MapKind || n.Kind == document.ListKind {
		return n.Mapped(func(name string, value *document.Node) *document.Node {
			if name != "" && value.Kind == document.StringKind { // NAME: value, a form that no configuration may have
				return h.mask(value, HiddenFromOthers)
			}
			return h.variables(value)
		})
	}
	if n.Kind != document.StringKind || !variablePattern.MatchString(variableName(n.Text)) {
		return h.mask(n, HiddenFromOthers)
	}
	name, value, valued := strings.Cut(n.Text, "=")
	shown := h.mask(&document.Node{Kind: document.StringKind, Text: value}, HiddenFromOthers)
	if !valued || shown.Text == value {
		return n
	}
	return &document.Node{Kind: document.StringKind, Text: name + "=" + shown.Text}
}

// address hides what may be a credential in an address.
func (h *hider) address(n *document.Node) *document.Node {
	if n.Kind != document.StringKind {
		return h.mask(n, HiddenFromAll)
	}
	shown := n.Text
	if i := strings.IndexAny(shown, "?#"); i >= 0 && shown[i+1:] != "" {
		shown = shown[:i+1] + hidden
	}
	if scheme, rest, ok := strings.Cut(shown, "://"); ok {
		if i := strings.LastIndexByte(rest, '@'); i > 0 {
			shown = scheme + "://" + hidden + rest[i:]
		}
	}
	if shown == n.Text {
		return n
	}
	h.found = HiddenFromAll
	return &document.Node{Kind: document.StringKind, Text: shown}
}

// shownJSON returns stored JSON as a reader sees it, and what it has.
func shownJSON(src []byte, own bool, of ...*section) ([]byte, Secrecy, error) {
	root, problems := document.ParseJSON("", src, document.StoredLimits())
	if len(problems) > 0 {
		return nil, NothingHidden, fmt.Errorf("a stored configuration: %w", document.AsError(problems))
	}
	h := hider{own: own}
	shown, err := json.Marshal(h.section(root, of...).Stored())
	return shown, h.found, err
}

func experimentSection() *section { return sectionOf(reflect.TypeFor[Config]()) }

func commandSection() *section { return sectionOf(reflect.TypeFor[CommandConfig]()) }

// ShownConfig returns the stored configuration of an experiment as its owner and admins see it (own), or as others do. Nobody sees
// credentials and the values below data.secrets; only the owner and admins see the values of environment variables and of pod_spec, where
// users put credentials too.
func ShownConfig(stored []byte, own bool) ([]byte, Secrecy, error) {
	return shownJSON(stored, own, experimentSection())
}

// ShownCommand is ShownConfig for what a notebook, shell, command, TensorBoard or generic task has stored.
func ShownCommand(stored []byte, own bool) ([]byte, Secrecy, error) {
	return shownJSON(stored, own, commandSection())
}

// Shown returns the configuration as JSON, as its owner and admins see it (own), or as others do.
func (c Config) Shown(own bool) ([]byte, error) { return shownOf(c, own, experimentSection()) }

// Shown returns the configuration as JSON, as its owner and admins see it (own), or as others do.
func (c CommandConfig) Shown(own bool) ([]byte, error) { return shownOf(c, own, commandSection()) }

func shownOf(config any, own bool, of *section) ([]byte, error) {
	b, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	shown, _, err := shownJSON(b, own, of)
	return shown, err
}

// ShownText returns the submitted text of an experiment as others than its owner see it: what its fields say, without what is hidden, and
// without comments and everything else that a text can have beside its fields. It returns false for a text that this release cannot read,
// and for one that is far longer without aliases: lists have many texts.
func ShownText(text string) (string, bool) {
	root, problems := document.Parse("", []byte(text), document.UserLimits())
	if len(problems) > 0 || root.Kind != document.MapKind || root.Size > len(text) || root.Bytes > len(text) {
		return "", false
	}
	h := hider{}
	shown := document.Emit(h.section(root, experimentSection()))
	if len(shown) > 4*len(text)+4096 {
		return "", false
	}
	return string(shown), true
}

// ShownStorage returns the section checkpoint_storage, where it stands alone, without its credentials.
func ShownStorage(section map[string]any) (map[string]any, error) {
	src, err := json.Marshal(section)
	if err != nil {
		return nil, err
	}
	shown, _, err := shownJSON(src, true, sectionOf(reflect.TypeFor[CheckpointStorage]()))
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(shown, &out)
}
