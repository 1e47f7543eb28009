package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
)

const version = 2

// parse reads the file in any of its versions. Version 0 has sessions of one master without its
// address; they are used for the current master.
func parse(text []byte, current string) (*document, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, err
	}
	v := 0
	if raw, ok := top["version"]; ok {
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, errors.New("its version is not a number")
		}
	}
	if v > version {
		return nil, fmt.Errorf("its version %d is newer than this program supports", v)
	}
	doc := &document{Masters: map[string]*master{}, other: map[string]json.RawMessage{}}
	if v == 0 {
		m, err := parseMaster(text)
		doc.Masters[current] = m
		return doc, err
	}
	for name, raw := range top {
		if name != "masters" && name != "version" {
			doc.other[name] = raw
		}
	}
	var masters map[string]json.RawMessage
	if raw, ok := top["masters"]; ok {
		if err := json.Unmarshal(raw, &masters); err != nil {
			return nil, errors.New("its masters are not an object")
		}
	}
	for address, raw := range masters {
		if v == 1 { // addresses are not canonical
			canonical, err := client.Canonical(strings.TrimRight(address, "/"))
			if err != nil {
				continue
			}
			address = canonical
		}
		m, err := parseMaster(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
		doc.Masters[address] = m
	}
	return doc, nil
}

func parseMaster(raw []byte) (*master, error) {
	var m struct {
		ActiveUser *string           `json:"active_user"`
		Tokens     map[string]string `json:"tokens"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, errors.New("a session has the wrong form")
	}
	return &master{Tokens: m.Tokens, ActiveUser: optional.Value(m.ActiveUser)}, nil
}

// encode encodes version 2 as Determined's client does: keys in order, four spaces, and
// active_user only if it is set.
func (d *document) encode() ([]byte, error) {
	masters := map[string]any{}
	for address, m := range d.Masters {
		entry := map[string]any{"tokens": m.Tokens}
		if m.Tokens == nil {
			entry["tokens"] = map[string]string{}
		}
		if m.ActiveUser != "" {
			entry["active_user"] = m.ActiveUser
		}
		masters[address] = entry
	}
	top := map[string]any{"version": version, "masters": masters}
	for name, raw := range d.other {
		top[name] = raw
	}
	return json.MarshalIndent(top, "", "    ")
}
