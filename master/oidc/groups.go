package oidc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxGroups     = 1000 // in a claim
	maxGroupClaim = 1000 // bytes of a name in a claim
	maxGroupName  = 200  // characters of the name of a group here
)

// GroupSync says how groups of a provider become groups here. Its zero value makes none.
type GroupSync struct {
	Create bool // groups that do not exist here
	Known  bool // groups of the same name that administrators made here
	Prefix string
	// Names maps groups of the provider to groups here that have another name. Such a group here may be
	// one that administrators created.
	Names map[string]string
}

// On reports whether groups of the provider become groups here.
func (s GroupSync) On() bool { return s.Create || s.Known }

// A Group is a group of a provider by its name here.
type Group struct {
	Name string
	Ours bool // it may be one that administrators made here
}

// Here returns the groups that stand for those of a provider, and how many have a name that no
// group here can have.
func (s GroupSync) Here(theirs []string) (groups []Group, unusable int) {
	for _, name := range theirs {
		g := Group{Name: s.Prefix + strings.TrimSpace(name), Ours: s.Known}
		if ours, named := s.Names[name]; named {
			g = Group{Name: ours, Ours: true}
		}
		if strings.TrimSpace(name) == "" || !GroupName(g.Name) {
			unusable++
			continue
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		switch {
		case a.Name != b.Name:
			return strings.Compare(a.Name, b.Name)
		case a.Ours == b.Ours:
			return 0
		case a.Ours: // the first one of a name stays
			return -1
		}
		return 1
	})
	return slices.CompactFunc(groups, func(a, b Group) bool { return a.Name == b.Name }), unusable
}

// GroupName reports whether a group here can have a name.
func GroupName(name string) bool {
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxGroupName && strings.TrimSpace(name) == name && !strings.ContainsFunc(name, unicode.IsControl)
}

// groupsIn accepts a list of names, or one name.
func groupsIn(claim any) ([]string, error) {
	switch claim := claim.(type) {
	case nil:
		return nil, nil
	case string:
		return oneGroup(nil, claim)
	case []any:
		if len(claim) > maxGroups {
			return nil, fmt.Errorf("%d groups are over the limit of %d", len(claim), maxGroups)
		}
		var out []string
		for _, g := range claim {
			name, ok := g.(string)
			if !ok {
				return nil, errors.New("expected a list of names")
			}
			var err error
			if out, err = oneGroup(out, name); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, errors.New("expected a list of names")
}

func oneGroup(list []string, name string) ([]string, error) {
	if len(name) > maxGroupClaim {
		return nil, fmt.Errorf("a name of %d bytes is over the limit of %d", len(name), maxGroupClaim)
	}
	return append(list, name), nil
}
