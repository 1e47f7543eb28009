package protocol

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// The operations of a patch.
const (
	add     = "add"
	replace = "replace"
	remove  = "remove"
)

// An Operation is one change of a patch.
type Operation struct {
	Op    string
	Path  string // "": the value is an object with the attributes to change
	Value json.RawMessage
}

// String names the operation, without its value.
func (o Operation) String() string { return strings.TrimSpace(o.Op + " " + fault.Clip(o.Path)) }

// ParsePatch reads the operations in the body of a request.
func ParsePatch(body []byte) ([]Operation, error) {
	var w struct {
		Schemas    []string    `json:"schemas"`
		Operations []Operation `json:"Operations"`
	}
	if err := decode(body, &w); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(w.Schemas, func(s string) bool { return strings.EqualFold(s, PatchSchema) }) {
		return nil, invalid(InvalidSyntax, "schemas: expected %s", PatchSchema)
	}
	if n := len(w.Operations); n == 0 || n > maxOperations {
		return nil, invalid(TooManyOps, "Operations: expected 1 to %d operations, found %d", maxOperations, n)
	}
	for i := range w.Operations {
		o := &w.Operations[i]
		if o.Op = strings.ToLower(o.Op); o.Op != add && o.Op != replace && o.Op != remove {
			return nil, invalid(InvalidSyntax, "op: expected add, replace or remove, found %q", fault.Clip(o.Op))
		}
	}
	return w.Operations, nil
}

// ignored are attributes of the standard's user that the master does not keep.
var ignored = []string{"addresses", "entitlements", "ims", "locale", "nickname", "password", "phonenumbers", "photos", "preferredlanguage",
	"profileurl", "roles", "timezone", "title", "usertype", "x509certificates"}

// readOnly are attributes that the master alone writes.
var readOnly = []string{"groups", "id", "meta", "schemas"}

// flat converts operations whose value has several attributes to operations with a path.
func flat(ops []Operation) ([]Operation, error) {
	var out []Operation
	for _, o := range ops {
		if o.Path != "" {
			out = append(out, o)
			continue
		}
		if o.Op == remove {
			return nil, invalid(NoTarget, "remove: the path is missing")
		}
		var fields map[string]json.RawMessage
		if err := decode(o.Value, &fields); err != nil || fields == nil {
			return nil, invalid(InvalidValue, "%s without a path: expected an object with attributes", o.Op)
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if name == "" {
				return nil, invalid(InvalidPath, "%s: an attribute has no name", o.Op)
			}
			if !slices.Contains(readOnly, strings.ToLower(name)) { // clients send them back unchanged
				out = append(out, Operation{o.Op, name, fields[name]})
			}
		}
	}
	return out, nil
}

// Patch returns the user after the operations.
func (u User) Patch(ops []Operation) (User, error) {
	u.Emails = slices.Clone(u.Emails)
	list, err := flat(ops)
	if err != nil {
		return u, err
	}
	for _, o := range list {
		path, err := ParsePath(o.Path)
		if err == nil && !path.Foreign {
			err = u.apply(o, path)
		}
		if err != nil {
			return u, err
		}
	}
	return u, u.check()
}

func (u *User) apply(o Operation, path Path) error {
	if path.Where != nil && path.Attr != "emails" {
		if slices.Contains(ignored, path.Attr) {
			return nil
		}
		return invalid(InvalidPath, "path: %s is no list", path.Attr)
	}
	switch path.name() {
	case "active":
		if o.Op == remove {
			return invalid(Mutability, "active: cannot be removed; set it to false")
		}
		var active Bool
		if err := decode(o.Value, &active); err != nil {
			return err
		}
		u.Active = new(bool(active))
		return nil
	case "username":
		return o.text(&u.UserName)
	case "externalid":
		return o.text(&u.ExternalID)
	case "displayname":
		return o.text(&u.DisplayName)
	case "name":
		return o.name(&u.Name)
	case "name.formatted":
		return o.text(&u.Name.Formatted)
	case "name.familyname":
		return o.text(&u.Name.FamilyName)
	case "name.givenname":
		return o.text(&u.Name.GivenName)
	case "name.middlename":
		return o.text(&u.Name.MiddleName)
	}
	switch {
	case path.Attr == "emails":
		return u.patchEmails(o, path)
	case slices.Contains(ignored, path.Attr), path.Attr == "name":
		return nil
	case slices.Contains(readOnly, path.Attr):
		return invalid(Mutability, "path: %s cannot be changed", path.Attr)
	}
	return invalid(InvalidPath, "path: a user has no attribute %q", fault.Clip(o.Path))
}

// text sets a text.
func (o Operation) text(to *string) error {
	if o.Op == remove || string(o.Value) == "null" {
		*to = ""
		return nil
	}
	var text string
	if err := decode(o.Value, &text); err != nil {
		return invalid(InvalidValue, "%s: expected a text", fault.Clip(o.Path))
	}
	*to = text
	return nil
}

func (o Operation) name(to *Name) error {
	if o.Op == remove {
		*to = Name{}
		return nil
	}
	if err := decode(o.Value, to); err != nil { // the parts that it does not have stay
		return invalid(InvalidValue, "name: expected an object with texts")
	}
	return nil
}

func (u *User) patchEmails(o Operation, path Path) error {
	chosen := func(e Email) bool { return path.Where == nil || e.is(*path.Where) }
	switch {
	case o.Op == remove && path.Sub == "":
		u.Emails = slices.DeleteFunc(u.Emails, chosen)
		return nil
	case path.Sub == "" && path.Where == nil:
		given, err := emailsIn(o.Value)
		if err != nil {
			return err
		}
		if o.Op == replace {
			u.Emails = nil
		}
		for _, e := range given {
			if !slices.Contains(u.Emails, e) {
				u.Emails = append(u.Emails, e)
			}
		}
		if len(u.Emails) > maxAddresses {
			return invalid(InvalidValue, "emails: %d are over the limit of %d", len(u.Emails), maxAddresses)
		}
		return nil
	}
	if !slices.ContainsFunc(u.Emails, chosen) {
		if o.Op == remove {
			return nil
		}
		// Clients also replace an address that does not exist yet.
		e := Email{}
		if path.Where != nil && path.Where.Attr == "type" {
			e.Type = path.Where.Value
		}
		if len(u.Emails) >= maxAddresses {
			return invalid(InvalidValue, "emails: more than %d", maxAddresses)
		}
		u.Emails = append(u.Emails, e)
		chosen = func(it Email) bool { return it == e }
	}
	for i := range u.Emails {
		if !chosen(u.Emails[i]) {
			continue
		}
		if err := u.Emails[i].patch(o, path); err != nil {
			return err
		}
	}
	return nil
}

// is reports whether a path selects an address.
func (e Email) is(c Compare) bool {
	switch c.Attr {
	case "type":
		return strings.EqualFold(e.Type, c.Value)
	case "value":
		return strings.EqualFold(e.Value, c.Value)
	case "primary":
		return c.Value == "true" && bool(e.Primary) || c.Value == "false" && !bool(e.Primary)
	}
	return false
}

func (e *Email) patch(o Operation, path Path) error {
	switch path.Sub {
	case "":
		if err := decode(o.Value, e); err != nil {
			return invalid(InvalidValue, "emails: expected an object with value and type")
		}
		return nil
	case "value":
		return o.text(&e.Value)
	case "type":
		return o.text(&e.Type)
	case "display":
		return o.text(&e.Display)
	case "primary":
		if o.Op == remove {
			e.Primary = false
			return nil
		}
		return decode(o.Value, &e.Primary)
	}
	return invalid(InvalidPath, "path: emails have no attribute %q", fault.Clip(path.Sub))
}

func emailsIn(raw json.RawMessage) (list []Email, err error) {
	if len(raw) > 0 && raw[0] == '{' {
		list = make([]Email, 1)
		err = decode(raw, &list[0])
	} else {
		err = decode(raw, &list)
	}
	if err != nil {
		return nil, invalid(InvalidValue, "emails: expected a list of objects with value and type")
	}
	return list, nil
}

// A GroupPatch is a change of a group. Nil leaves a text as it is.
type GroupPatch struct {
	DisplayName, ExternalID *string
	Clear                   bool  // all members leave first
	Add, Remove             []int // members; no user is in both

	joins map[int]bool // by user: whether the last operation that names the user adds
}

// PatchGroup returns the changes of a group that operations describe.
func PatchGroup(ops []Operation) (GroupPatch, error) {
	var p GroupPatch
	list, err := flat(ops)
	if err != nil {
		return p, err
	}
	for _, o := range list {
		path, err := ParsePath(o.Path)
		if err == nil && !path.Foreign {
			err = p.apply(o, path)
		}
		if err != nil {
			return p, err
		}
	}
	p.settle()
	return p, nil
}

func (p *GroupPatch) apply(o Operation, path Path) error {
	switch path.name() {
	case "displayname", "externalid":
		to := new(string)
		if err := o.text(to); err != nil {
			return err
		}
		g := Group{DisplayName: "x", ExternalID: *to}
		if path.Attr == "displayname" {
			g = Group{DisplayName: *to}
			p.DisplayName = to
		} else {
			p.ExternalID = to
		}
		return g.check()
	case "members":
		return p.members(o, path)
	}
	if slices.Contains(readOnly, path.Attr) {
		return invalid(Mutability, "path: %s cannot be changed", path.Attr)
	}
	return invalid(InvalidPath, "path: a group has no attribute %q that a client changes", fault.Clip(o.Path))
}

func (p *GroupPatch) members(o Operation, path Path) error {
	var ids []int
	switch {
	case path.Where != nil:
		if o.Op != remove || path.Where.Attr != "value" {
			return invalid(InvalidPath, "path: expected members, or members[value eq \"5\"] with remove")
		}
		if id, err := ParseID(path.Where.Value); err == nil { // else nobody is meant
			ids = []int{id}
		}
	case o.Op == remove && (len(o.Value) == 0 || string(o.Value) == "null"):
		*p = GroupPatch{DisplayName: p.DisplayName, ExternalID: p.ExternalID, Clear: true}
		return nil
	default:
		var list []wireMember
		err := decode(o.Value, &list)
		if len(o.Value) > 0 && o.Value[0] == '{' {
			list = make([]wireMember, 1)
			err = decode(o.Value, &list[0])
		}
		if err != nil {
			return invalid(InvalidValue, "members: expected a list of objects with value, the id of a user")
		}
		if ids, err = memberIDs(list); err != nil {
			return err
		}
	}
	return p.change(o.Op, ids)
}

func (p *GroupPatch) change(op string, ids []int) error {
	if op == replace {
		p.Clear, p.joins = true, nil
	}
	if p.joins == nil {
		p.joins = map[int]bool{}
	}
	for _, id := range ids {
		p.joins[id] = op != remove
	}
	if len(p.joins) > MaxMembers {
		return invalid(TooManyOps, "members: more than %d in one request", MaxMembers)
	}
	return nil
}

// settle lists the members that join and leave.
func (p *GroupPatch) settle() {
	for id, joins := range p.joins {
		if joins {
			p.Add = append(p.Add, id)
		} else {
			p.Remove = append(p.Remove, id)
		}
	}
	slices.Sort(p.Add)
	slices.Sort(p.Remove)
}
