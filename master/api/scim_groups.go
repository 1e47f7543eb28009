package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/detent-ml/detent/master/api/internal/scim"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
)

// groupFilter translates a filter for groups.
func groupFilter(list []scim.Compare) (f store.SCIMFilter, err error) {
	for _, one := range list {
		if one.Bare {
			return f, scim.Typed(scim.InvalidFilter, fault.New(fault.Invalid, "filter: %s is compared with a value of another type", one.Attr))
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
func onceID(f *store.SCIMFilter, was *int, text string) *int {
	id, err := scim.ParseID(text)
	if err != nil {
		f.Nothing = true
		return was
	}
	return once(f, was, id)
}

func (a *API) shownSCIMGroup(g store.SCIMGroup, members []store.SCIMMember, withMembers bool) map[string]any {
	shown := map[string]any{"schemas": []string{scim.GroupSchema}, "id": strconv.Itoa(g.ID), "displayName": g.Name, "meta": a.scimMeta("Group", g.ID, g.CreatedAt, g.ModifiedAt)}
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

func (a *API) sendSCIMGroup(ctx context.Context, c *rest.Call, status int, g store.SCIMGroup) error {
	p := scimPage{only: requestedAttributes(c, "attributes"), except: requestedAttributes(c, "excludedAttributes")}
	var members []store.SCIMMember
	var err error
	if p.shows("members") {
		if members, err = a.db.SCIMMembers(ctx, []int{g.ID}, []int{}); err != nil {
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
	list, total, err := a.db.SCIMGroups(ctx, f, p.start-1, p.count)
	if err != nil {
		return err
	}
	var members []store.SCIMMember
	if len(list) > 0 && p.shows("members") {
		ids := make([]int, len(list))
		for i, g := range list {
			ids[i] = g.ID
		}
		if members, err = a.db.SCIMMembers(ctx, ids, []int{}); err != nil {
			return err
		}
	}
	of := map[int][]store.SCIMMember{}
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
	g, err := a.db.SCIMGroup(ctx, id)
	if err != nil {
		return err
	}
	return a.sendSCIMGroup(ctx, c, http.StatusOK, g)
}

func (a *API) createSCIMGroup(_ context.Context, c *rest.Call) error {
	given, err := bodySCIM(c, scim.ParseGroup)
	if err != nil {
		return err
	}
	ctx, cancel := a.inTime()
	defer cancel()
	noteDone(c, map[string]any{"displayName": given.DisplayName, "externalId": given.ExternalID, "joined": given.Members})
	g, err := a.db.CreateSCIMGroup(ctx, given.DisplayName, given.ExternalID, given.Members)
	if err != nil {
		return unique(err)
	}
	a.rolesChanged()
	return a.sendSCIMGroup(ctx, c, http.StatusCreated, g)
}

func (a *API) replaceSCIMGroup(_ context.Context, c *rest.Call) error {
	given, err := bodySCIM(c, scim.ParseGroup)
	if err != nil {
		return err
	}
	return a.changeSCIMGroup(c, nil, scim.GroupPatch{DisplayName: &given.DisplayName, ExternalID: &given.ExternalID, Clear: true, Add: given.Members})
}

func (a *API) patchSCIMGroup(_ context.Context, c *rest.Call) error {
	ops, err := bodySCIM(c, scim.ParsePatch)
	if err != nil {
		return err
	}
	patch, err := scim.PatchGroup(ops)
	if err != nil {
		return err
	}
	return a.changeSCIMGroup(c, ops, patch)
}

func (a *API) changeSCIMGroup(c *rest.Call, ops []scim.Operation, p scim.GroupPatch) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	what := map[string]any{"joined": p.Add, "left": p.Remove, "operations": operationNames(ops)}
	if p.DisplayName != nil {
		what["displayName"] = *p.DisplayName
	}
	noteDone(c, what)
	g, err := a.db.ChangeSCIMGroup(ctx, id, store.SCIMGroupChange{Name: p.DisplayName, ExternalID: p.ExternalID, Clear: p.Clear, Add: p.Add, Remove: p.Remove})
	if err != nil {
		return unique(err)
	}
	a.rolesChanged()
	return a.sendSCIMGroup(ctx, c, http.StatusOK, g)
}

func (a *API) deleteSCIMGroup(_ context.Context, c *rest.Call) error {
	ctx, cancel, id, err := a.onSCIM(c)
	if err != nil {
		return err
	}
	defer cancel()
	if err := a.db.DeleteSCIMGroup(ctx, id); err != nil {
		return err
	}
	a.rolesChanged()
	return c.SendStatus(http.StatusNoContent)
}
