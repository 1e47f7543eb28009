package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/detent-ml/detent/master/accounts/scim"
	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// groupFilter translates a filter for groups.
func groupFilter(list []protocol.Compare) (f scim.Filter, err error) {
	for _, one := range list {
		if one.Bare {
			return f, protocol.Typed(protocol.InvalidFilter, fault.New(fault.Invalid, "filter: %s is compared with a value of another type", one.Attr))
		}
		switch one.Attr {
		case "displayname":
			f.Name = once(&f, f.Name, one.Value)
		case "externalid":
			f.ExternalID = once(&f, f.ExternalID, one.Value)
		case "id":
			f.ID = onceID(&f, f.ID, one.Value)
		case "members", "members.value":
			f.Member = onceID(&f, f.Member, one.Value)
		default:
			return f, unknownFilter(one, "displayName, externalId, id and members.value")
		}
	}
	return f, nil
}

// onceID sets a comparison with an id. A text that is no valid id matches nothing.
func onceID(f *scim.Filter, was *int, text string) *int {
	id, err := protocol.ParseID(text)
	if err != nil {
		f.Nothing = true
		return was
	}
	return once(f, was, id)
}

func (a *API) shownSCIMGroup(g scim.Group, members []scim.Member, withMembers bool) map[string]any {
	shown := map[string]any{"schemas": []string{protocol.GroupSchema}, "id": strconv.Itoa(g.ID), "displayName": g.Name, "meta": a.scimMeta("Group", g.ID, g.CreatedAt, g.ModifiedAt)}
	if g.ExternalID != "" {
		shown["externalId"] = g.ExternalID
	}
	if withMembers {
		list := []map[string]any{}
		for _, m := range members {
			if m.GroupID == g.ID {
				list = append(list, map[string]any{"value": strconv.Itoa(m.UserID), "display": m.Username, "type": "User", "$ref": a.scimAddress("Users", m.UserID)})
			}
		}
		shown["members"] = list
	}
	return shown
}

func (a *API) sendSCIMGroup(ctx context.Context, c *rest.Call, status int, g scim.Group) error {
	p := scimPage{only: requestedAttributes(c, "attributes"), except: requestedAttributes(c, "excludedAttributes")}
	var members []scim.Member
	var err error
	if p.shows("members") {
		if members, err = scim.Members(ctx, a.db.DB, []int{g.ID}, []int{}); err != nil {
			return err
		}
	}
	c.Set("Location", a.scimAddress("Groups", g.ID))
	return sendSCIM(c, status, p.cut(a.shownSCIMGroup(g, members, p.shows("members"))))
}

func (a *API) listSCIMGroups(_ context.Context, c *rest.Call) error {
	ctx, cancel := a.inTime()
	defer cancel()
	p, err := scimPageOf(c)
	if err != nil {
		return err
	}
	f, err := groupFilter(p.filter)
	if err != nil {
		return err
	}
	list, total, err := scim.Groups(ctx, a.db.DB, f, p.start-1, p.count)
	if err != nil {
		return err
	}
	var members []scim.Member
	if len(list) > 0 && p.shows("members") {
		ids := make([]int, len(list))
		for i, g := range list {
			ids[i] = g.ID
		}
		if members, err = scim.Members(ctx, a.db.DB, ids, []int{}); err != nil {
			return err
		}
	}
	of := map[int][]scim.Member{}
	for _, m := range members {
		of[m.GroupID] = append(of[m.GroupID], m)
	}
	var shown []map[string]any
	for _, g := range list {
		shown = append(shown, a.shownSCIMGroup(g, of[g.ID], p.shows("members")))
	}
	return sendSCIMList(c, p, total, shown)
}

func (a *API) scimGroup(_ context.Context, c *rest.Call) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	g, err := scim.GroupByID(ctx, a.db.DB, id)
	if err != nil {
		return err
	}
	return a.sendSCIMGroup(ctx, c, http.StatusOK, g)
}

func (a *API) createSCIMGroup(_ context.Context, c *rest.Call) error {
	given, err := bodySCIM(c, protocol.ParseGroup)
	if err != nil {
		return err
	}
	ctx, cancel := a.inTime()
	defer cancel()
	audit.Note(c, map[string]any{"displayName": given.DisplayName, "externalId": given.ExternalID, "joined": given.Members})
	g, err := scim.CreateGroup(ctx, a.db.DB, given.DisplayName, given.ExternalID, given.Members)
	if err != nil {
		return unique(err)
	}
	a.auth.RolesChanged()
	return a.sendSCIMGroup(ctx, c, http.StatusCreated, g)
}

func (a *API) replaceSCIMGroup(_ context.Context, c *rest.Call) error {
	given, err := bodySCIM(c, protocol.ParseGroup)
	if err != nil {
		return err
	}
	return a.changeSCIMGroup(c, nil, protocol.GroupPatch{DisplayName: &given.DisplayName, ExternalID: &given.ExternalID, Clear: true, Add: given.Members})
}

func (a *API) patchSCIMGroup(_ context.Context, c *rest.Call) error {
	ops, err := bodySCIM(c, protocol.ParsePatch)
	if err != nil {
		return err
	}
	patch, err := protocol.PatchGroup(ops)
	if err != nil {
		return err
	}
	return a.changeSCIMGroup(c, ops, patch)
}

func (a *API) changeSCIMGroup(c *rest.Call, ops []protocol.Operation, p protocol.GroupPatch) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	what := map[string]any{"joined": p.Add, "left": p.Remove, "operations": operationNames(ops)}
	if p.DisplayName != nil {
		what["displayName"] = *p.DisplayName
	}
	audit.Note(c, what)
	g, err := scim.ChangeGroup(ctx, a.db.DB, a.db.Roles, id, scim.GroupChange{Name: p.DisplayName, ExternalID: p.ExternalID, Clear: p.Clear, Add: p.Add, Remove: p.Remove})
	if err != nil {
		return unique(err)
	}
	a.auth.RolesChanged()
	return a.sendSCIMGroup(ctx, c, http.StatusOK, g)
}

func (a *API) deleteSCIMGroup(_ context.Context, c *rest.Call) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	if err := scim.DeleteGroup(ctx, a.db.DB, a.db.Roles, id); err != nil {
		return err
	}
	a.auth.RolesChanged()
	return c.SendStatus(http.StatusNoContent)
}
