package scim

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
)

// userFilter translates a filter for users.
func userFilter(list []protocol.Compare) (f Filter, err error) {
	for _, one := range list {
		value := one.Value
		if one.Bare != (one.Attr == "active") {
			return f, protocol.Typed(protocol.InvalidFilter, fault.New(fault.Invalid, "filter: %s is compared with a value of another type", one.Attr))
		}
		switch one.Attr {
		case "username":
			value = strings.ToLower(value)
			f.Name = once(&f, f.Name, value)
		case "externalid":
			f.ExternalID = once(&f, f.ExternalID, value)
		case "displayname":
			f.Shown = once(&f, f.Shown, value)
		case "emails", "emails.value":
			f.Email = once(&f, f.Email, value)
		case "id":
			f.ID = onceID(&f, f.ID, value)
		case "active":
			f.Active = once(&f, f.Active, value == "true")
		default:
			return f, unknownFilter(one, "userName, externalId, displayName, emails.value, id and active")
		}
	}
	return f, nil
}

func unknownFilter(one protocol.Compare, known string) error {
	return protocol.Typed(protocol.InvalidFilter, fault.New(fault.Invalid, "filter: cannot filter by %q; supported are %s", fault.Clip(one.Attr), known))
}

// once sets a comparison. Two comparisons of one attribute with different values are never true.
func once[T comparable](f *Filter, was *T, value T) *T {
	if was != nil && *was != value {
		f.Nothing = true
	}
	return &value
}

// shownUser is a user as the client sees it.
func (d Deps) shownUser(u User, groups []Member) (map[string]any, error) {
	attributes, err := attributesOf(u)
	if err != nil {
		return nil, err
	}
	shown := map[string]any{"schemas": []string{protocol.UserSchema}, "id": strconv.Itoa(u.ID), "userName": u.Username, "active": u.Active,
		"meta": d.meta("User", u.ID, u.CreatedAt, u.ModifiedAt)}
	if strings.EqualFold(attributes.UserName, u.Username) {
		shown["userName"] = attributes.UserName
	}
	if u.ExternalID != "" {
		shown["externalId"] = u.ExternalID
	}
	if attributes.DisplayName != "" {
		shown["displayName"] = attributes.DisplayName
	}
	if attributes.Name != (protocol.Name{}) {
		shown["name"] = attributes.Name
	}
	if len(attributes.Emails) > 0 {
		shown["emails"] = attributes.Emails
	}
	in := []map[string]any{}
	for _, m := range groups {
		if m.UserID == u.ID {
			in = append(in, map[string]any{"value": strconv.Itoa(m.GroupID), "display": m.Group, "type": "direct", "$ref": d.address("Groups", m.GroupID)})
		}
	}
	if len(in) > 0 {
		shown["groups"] = in
	}
	return shown, nil
}

func attributesOf(u User) (a protocol.Attributes, err error) {
	return a, json.Unmarshal(u.Attributes, &a)
}

// sendUser sends a user.
func (d Deps) sendUser(ctx context.Context, c *rest.Call, status int, u User) error {
	p := page{only: requestedAttributes(c, "attributes"), except: requestedAttributes(c, "excludedAttributes")}
	groups, err := Members(ctx, d.DB, []int{}, []int{u.ID})
	if err != nil {
		return err
	}
	shown, err := d.shownUser(u, groups)
	if err != nil {
		return err
	}
	c.Set("Location", d.address("Users", u.ID))
	return send(c, status, p.cut(shown))
}

func (d Deps) listUsers(_ context.Context, c *rest.Call) error {
	ctx, cancel := inTime(c)
	defer cancel()
	p, err := pageOf(c)
	if err != nil {
		return err
	}
	f, err := userFilter(p.filter)
	if err != nil {
		return err
	}
	list, total, err := Users(ctx, d.DB, f, p.start-1, p.count)
	if err != nil {
		return err
	}
	ids := each.Of(list, func(u User) int { return u.ID })
	var groups []Member
	if len(ids) > 0 && p.shows("groups") {
		if groups, err = Members(ctx, d.DB, []int{}, ids); err != nil {
			return err
		}
	}
	var shown []map[string]any
	for _, u := range list {
		one, err := d.shownUser(u, groups)
		if err != nil {
			return err
		}
		shown = append(shown, one)
	}
	return sendList(c, p, total, shown)
}

func (d Deps) user(ctx context.Context, c *rest.Call, id int) error {
	u, err := UserByID(ctx, d.DB, id)
	if err != nil {
		return err
	}
	return d.sendUser(ctx, c, http.StatusOK, u)
}

// wanted returns the state of an account that a client requests.
func wanted(u protocol.User, active bool) (Change, error) {
	name, err := accounts.CheckUsername(u.UserName)
	if err != nil {
		return Change{}, protocol.Typed(protocol.InvalidValue, err)
	}
	b, err := json.Marshal(u.Attributes)
	return Change{Username: name, ExternalID: u.ExternalID, ShownName: u.ShownName(), Attributes: b, Active: active}, err
}

// noteUser adds the requested state of an account to the audit trail.
func noteUser(c *rest.Call, u protocol.User, ops []protocol.Operation) {
	what := map[string]any{"userName": u.UserName, "externalId": u.ExternalID}
	if u.Active != nil {
		what["active"] = *u.Active
	}
	if len(ops) > 0 {
		what["operations"] = operationNames(ops)
	}
	audit.Note(c, what)
}

// operationNames names operations for the audit trail, without their values.
func operationNames(ops []protocol.Operation) (names []string) {
	for _, o := range ops[:min(len(ops), maxShown)] {
		names = append(names, o.String())
	}
	return names
}

// unique sets the error type that clients expect for conflicts.
func unique(err error) error {
	if fault.Is(err, fault.Conflict) {
		return protocol.Typed(protocol.Uniqueness, err)
	}
	return err
}

func (d Deps) createUser(_ context.Context, c *rest.Call) error {
	u, err := bodyOf(c, protocol.ParseUser)
	if err != nil {
		return err
	}
	ctx, cancel := inTime(c)
	defer cancel()
	noteUser(c, u, nil)
	want, err := wanted(u, u.Active == nil || *u.Active)
	if err != nil {
		return err
	}
	made, err := CreateUser(ctx, d.DB, d.Roles, want)
	if err != nil {
		return unique(err)
	}
	d.Callers.AccountChanged(made.ID)
	return d.sendUser(ctx, c, http.StatusCreated, made)
}

// changeUser applies change to an account and stores the result.
func (d Deps) changeUser(ctx context.Context, c *rest.Call, ops []protocol.Operation, change func(protocol.User) (protocol.User, error)) error {
	return onID(func(ctx context.Context, c *rest.Call, id int) error {
		u, err := ChangeUser(ctx, d.DB, d.Roles, id, func(was User) (Change, error) {
			attributes, err := attributesOf(was)
			if err != nil {
				return Change{}, err
			}
			if !strings.EqualFold(attributes.UserName, was.Username) { // an administrator has renamed it
				attributes.UserName = was.Username
			}
			now, err := change(protocol.User{Attributes: attributes, ExternalID: was.ExternalID, Active: &was.Active})
			if err != nil {
				return Change{}, err
			}
			noteUser(c, now, ops)
			return wanted(now, optional.Value(now.Active))
		})
		if err != nil {
			return unique(err)
		}
		d.Callers.AccountChanged(id)
		return d.sendUser(ctx, c, http.StatusOK, u)
	})(ctx, c)
}

func (d Deps) replaceUser(ctx context.Context, c *rest.Call) error {
	given, err := bodyOf(c, protocol.ParseUser)
	if err != nil {
		return err
	}
	return d.changeUser(ctx, c, nil, func(was protocol.User) (protocol.User, error) {
		if given.Active == nil { // a client that does not say it activates nobody
			given.Active = was.Active
		}
		return given, nil
	})
}

func (d Deps) patchUser(ctx context.Context, c *rest.Call) error {
	ops, err := bodyOf(c, protocol.ParsePatch)
	if err != nil {
		return err
	}
	return d.changeUser(ctx, c, ops, func(was protocol.User) (protocol.User, error) { return was.Patch(ops) })
}

func (d Deps) deleteUser(ctx context.Context, c *rest.Call, id int) error {
	if err := DeleteUser(ctx, d.DB, d.Roles, id); err != nil {
		return err
	}
	d.Callers.AccountChanged(id)
	d.Callers.RolesChanged()
	return c.SendStatus(http.StatusNoContent)
}
