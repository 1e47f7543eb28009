package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
)

// userFilter translates a filter for users.
func userFilter(list []protocol.Compare) (f scim.Filter, err error) {
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
func once[T comparable](f *scim.Filter, was *T, value T) *T {
	if was != nil && *was != value {
		f.Nothing = true
	}
	return &value
}

// shownSCIMUser is a user as the client sees it.
func (a *API) shownSCIMUser(u scim.User, groups []scim.Member) (map[string]any, error) {
	attributes, err := attributesOf(u)
	if err != nil {
		return nil, err
	}
	shown := map[string]any{"schemas": []string{protocol.UserSchema}, "id": strconv.Itoa(u.ID), "userName": u.Username, "active": u.Active,
		"meta": a.scimMeta("User", u.ID, u.CreatedAt, u.ModifiedAt)}
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
			in = append(in, map[string]any{"value": strconv.Itoa(m.GroupID), "display": m.Group, "type": "direct", "$ref": a.scimAddress("Groups", m.GroupID)})
		}
	}
	if len(in) > 0 {
		shown["groups"] = in
	}
	return shown, nil
}

func attributesOf(u scim.User) (a protocol.Attributes, err error) {
	return a, json.Unmarshal(u.Attributes, &a)
}

// sendSCIMUser sends a user.
func (a *API) sendSCIMUser(ctx context.Context, c *rest.Call, status int, u scim.User) error {
	p := scimPage{only: requestedAttributes(c, "attributes"), except: requestedAttributes(c, "excludedAttributes")}
	groups, err := scim.Members(ctx, a.db.DB, []int{}, []int{u.ID})
	if err != nil {
		return err
	}
	shown, err := a.shownSCIMUser(u, groups)
	if err != nil {
		return err
	}
	c.Set("Location", a.scimAddress("Users", u.ID))
	return sendSCIM(c, status, p.cut(shown))
}

func (a *API) listSCIMUsers(_ context.Context, c *rest.Call) error {
	ctx, cancel := a.inTime()
	defer cancel()
	p, err := scimPageOf(c)
	if err != nil {
		return err
	}
	f, err := userFilter(p.filter)
	if err != nil {
		return err
	}
	list, total, err := scim.Users(ctx, a.db.DB, f, p.start-1, p.count)
	if err != nil {
		return err
	}
	ids := make([]int, len(list))
	for i, u := range list {
		ids[i] = u.ID
	}
	var groups []scim.Member
	if len(ids) > 0 && p.shows("groups") {
		if groups, err = scim.Members(ctx, a.db.DB, []int{}, ids); err != nil {
			return err
		}
	}
	var shown []map[string]any
	for _, u := range list {
		one, err := a.shownSCIMUser(u, groups)
		if err != nil {
			return err
		}
		shown = append(shown, one)
	}
	return sendSCIMList(c, p, total, shown)
}

func (a *API) scimUser(_ context.Context, c *rest.Call) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	u, err := scim.UserByID(ctx, a.db.DB, id)
	if err != nil {
		return err
	}
	return a.sendSCIMUser(ctx, c, http.StatusOK, u)
}

// wanted returns the state of an account that a client requests.
func wanted(u protocol.User, active bool) (scim.Change, error) {
	name, err := accounts.CheckUsername(u.UserName)
	if err != nil {
		return scim.Change{}, protocol.Typed(protocol.InvalidValue, err)
	}
	b, err := json.Marshal(u.Attributes)
	return scim.Change{Username: name, ExternalID: u.ExternalID, ShownName: u.ShownName(), Attributes: b, Active: active}, err
}

// noteSCIMUser adds the requested state of an account to the audit trail.
func noteSCIMUser(c *rest.Call, u protocol.User, ops []protocol.Operation) {
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
	for _, o := range ops[:min(len(ops), maxSCIMShown)] {
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

func (a *API) createSCIMUser(_ context.Context, c *rest.Call) error {
	u, err := bodySCIM(c, protocol.ParseUser)
	if err != nil {
		return err
	}
	ctx, cancel := a.inTime()
	defer cancel()
	noteSCIMUser(c, u, nil)
	want, err := wanted(u, u.Active == nil || *u.Active)
	if err != nil {
		return err
	}
	made, err := scim.CreateUser(ctx, a.db.DB, a.db.Roles, want)
	if err != nil {
		return unique(err)
	}
	a.auth.AccountChanged(made.ID)
	return a.sendSCIMUser(ctx, c, http.StatusCreated, made)
}

// changeSCIMUser applies change to an account and stores the result.
func (a *API) changeSCIMUser(c *rest.Call, ops []protocol.Operation, change func(protocol.User) (protocol.User, error)) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	u, err := scim.ChangeUser(ctx, a.db.DB, a.db.Roles, id, func(was scim.User) (scim.Change, error) {
		attributes, err := attributesOf(was)
		if err != nil {
			return scim.Change{}, err
		}
		if !strings.EqualFold(attributes.UserName, was.Username) { // an administrator has renamed it
			attributes.UserName = was.Username
		}
		now, err := change(protocol.User{Attributes: attributes, ExternalID: was.ExternalID, Active: &was.Active})
		if err != nil {
			return scim.Change{}, err
		}
		noteSCIMUser(c, now, ops)
		return wanted(now, optional.Value(now.Active))
	})
	if err != nil {
		return unique(err)
	}
	a.auth.AccountChanged(id)
	return a.sendSCIMUser(ctx, c, http.StatusOK, u)
}

func (a *API) replaceSCIMUser(_ context.Context, c *rest.Call) error {
	given, err := bodySCIM(c, protocol.ParseUser)
	if err != nil {
		return err
	}
	return a.changeSCIMUser(c, nil, func(was protocol.User) (protocol.User, error) {
		if given.Active == nil { // a client that does not say it activates nobody
			given.Active = was.Active
		}
		return given, nil
	})
}

func (a *API) patchSCIMUser(_ context.Context, c *rest.Call) error {
	ops, err := bodySCIM(c, protocol.ParsePatch)
	if err != nil {
		return err
	}
	return a.changeSCIMUser(c, ops, func(was protocol.User) (protocol.User, error) { return was.Patch(ops) })
}

func (a *API) deleteSCIMUser(_ context.Context, c *rest.Call) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	if err := scim.DeleteUser(ctx, a.db.DB, a.db.Roles, id); err != nil {
		return err
	}
	a.auth.AccountChanged(id)
	a.auth.RolesChanged()
	return c.SendStatus(http.StatusNoContent)
}
