package scim

import (
	"context"
	"net/http"
	"strconv"

	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// groupFilter translates a filter for groups.
func groupFilter(list []protocol.Compare) (f Filter, err error) {
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
func onceID(f *Filter, was *int, text string) *int {
	id, err := protocol.ParseID(text)
	if err != nil {
		f.Nothing = true
		return was
	}
	return once(f, was, id)
}

func (d Deps) shownGroup(g Group, members []Member, withMembers bool) map[string]any {
	shown := map[string]any{"schemas": []string{protocol.GroupSchema}, "id": strconv.Itoa(g.ID), "displayName": g.Name, "meta": d.meta("Group", g.ID, g.CreatedAt, g.ModifiedAt)}
	if g.ExternalID != "" {
		shown["externalId"] = g.ExternalID
	}
	if withMembers {
		list := []map[string]any{}
		for _, m := range members {
			if m.GroupID == g.ID {
				list = append(list, map[string]any{"value": strconv.Itoa(m.UserID), "display": m.Username, "type": "User", "$ref": d.address("Users", m.UserID)})
			}
		}
		shown["members"] = list
	}
	return shown
}

func (d Deps) sendGroup(ctx context.Context, c *rest.Call, status int, g Group) error {
	p := page{only: requestedAttributes(c, "attributes"), except: requestedAttributes(c, "excludedAttributes")}
	var members []Member
	var err error
	if p.shows("members") {
		if members, err = Members(ctx, d.DB, []int{g.ID}, []int{}); err != nil {
			return err
		}
	}
	c.Set("Location", d.address("Groups", g.ID))
	return send(c, status, p.cut(d.shownGroup(g, members, p.shows("members"))))
}

func (d Deps) listGroups(_ context.Context, c *rest.Call) error {
	ctx, cancel := inTime(c)
	defer cancel()
	p, err := pageOf(c)
	if err != nil {
		return err
	}
	f, err := groupFilter(p.filter)
	if err != nil {
		return err
	}
	list, total, err := Groups(ctx, d.DB, f, p.start-1, p.count)
	if err != nil {
		return err
	}
	var members []Member
	if len(list) > 0 && p.shows("members") {
		ids := each.Of(list, func(g Group) int { return g.ID })
		if members, err = Members(ctx, d.DB, ids, []int{}); err != nil {
			return err
		}
	}
	of := each.Group(members, func(m Member) int { return m.GroupID })
	return sendList(c, p, total, each.Of(list, func(g Group) map[string]any { return d.shownGroup(g, of[g.ID], p.shows("members")) }))
}

func (d Deps) group(ctx context.Context, c *rest.Call, id int) error {
	g, err := GroupByID(ctx, d.DB, id)
	if err != nil {
		return err
	}
	return d.sendGroup(ctx, c, http.StatusOK, g)
}

func (d Deps) createGroup(_ context.Context, c *rest.Call) error {
	given, err := bodyOf(c, protocol.ParseGroup)
	if err != nil {
		return err
	}
	ctx, cancel := inTime(c)
	defer cancel()
	audit.Note(c, map[string]any{"displayName": given.DisplayName, "externalId": given.ExternalID, "joined": given.Members})
	g, err := CreateGroup(ctx, d.DB, given.DisplayName, given.ExternalID, given.Members)
	if err != nil {
		return unique(err)
	}
	d.Callers.RolesChanged()
	return d.sendGroup(ctx, c, http.StatusCreated, g)
}

func (d Deps) replaceGroup(ctx context.Context, c *rest.Call) error {
	given, err := bodyOf(c, protocol.ParseGroup)
	if err != nil {
		return err
	}
	return d.changeGroup(ctx, c, nil, protocol.GroupPatch{DisplayName: &given.DisplayName, ExternalID: &given.ExternalID, Clear: true, Add: given.Members})
}

func (d Deps) patchGroup(ctx context.Context, c *rest.Call) error {
	ops, err := bodyOf(c, protocol.ParsePatch)
	if err != nil {
		return err
	}
	patch, err := protocol.PatchGroup(ops)
	if err != nil {
		return err
	}
	return d.changeGroup(ctx, c, ops, patch)
}

func (d Deps) changeGroup(ctx context.Context, c *rest.Call, ops []protocol.Operation, p protocol.GroupPatch) error {
	return onID(func(ctx context.Context, c *rest.Call, id int) error {
		what := map[string]any{"joined": p.Add, "left": p.Remove, "operations": operationNames(ops)}
		if p.DisplayName != nil {
			what["displayName"] = *p.DisplayName
		}
		audit.Note(c, what)
		g, err := ChangeGroup(ctx, d.DB, d.Roles, id, GroupChange{Name: p.DisplayName, ExternalID: p.ExternalID, Clear: p.Clear, Add: p.Add, Remove: p.Remove})
		if err != nil {
			return unique(err)
		}
		d.Callers.RolesChanged()
		return d.sendGroup(ctx, c, http.StatusOK, g)
	})(ctx, c)
}

func (d Deps) deleteGroup(ctx context.Context, c *rest.Call, id int) error {
	if err := DeleteGroup(ctx, d.DB, d.Roles, id); err != nil {
		return err
	}
	d.Callers.RolesChanged()
	return c.SendStatus(http.StatusNoContent)
}
