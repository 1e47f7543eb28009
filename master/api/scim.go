package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxSCIMPage       = 500
	usualSCIMPage     = 100
	scimPath          = "/scim/v2"
	maxSCIMAttributes = 4096 // bytes of the names of attributes
	maxSCIMShown      = 20   // operations of a patch that the audit trail names
)

func (a *API) registerSCIM() {
	rest.Raw(a.router, v1.ListSCIMUsers, a.listSCIMUsers)
	rest.Raw(a.router, v1.CreateSCIMUser, a.createSCIMUser)
	rest.Raw(a.router, v1.GetSCIMUser, a.scimUser)
	rest.Raw(a.router, v1.ReplaceSCIMUser, a.replaceSCIMUser)
	rest.Raw(a.router, v1.PatchSCIMUser, a.patchSCIMUser)
	rest.Raw(a.router, v1.DeleteSCIMUser, a.deleteSCIMUser)
	rest.Raw(a.router, v1.ListSCIMGroups, a.listSCIMGroups)
	rest.Raw(a.router, v1.CreateSCIMGroup, a.createSCIMGroup)
	rest.Raw(a.router, v1.GetSCIMGroup, a.scimGroup)
	rest.Raw(a.router, v1.ReplaceSCIMGroup, a.replaceSCIMGroup)
	rest.Raw(a.router, v1.PatchSCIMGroup, a.patchSCIMGroup)
	rest.Raw(a.router, v1.DeleteSCIMGroup, a.deleteSCIMGroup)
	rest.Raw(a.router, v1.SearchSCIM, searchSCIM)
	rest.Raw(a.router, v1.GetSCIMConfig, a.scimConfig)
	rest.Raw(a.router, v1.ListSCIMTypes, a.listSCIM(protocol.ResourceTypes))
	rest.Raw(a.router, v1.GetSCIMType, a.oneSCIM(protocol.ResourceTypes))
	rest.Raw(a.router, v1.ListSCIMSchemas, a.listSCIM(protocol.Schemas))
	rest.Raw(a.router, v1.GetSCIMSchema, a.oneSCIM(protocol.Schemas))
}

// otherMethodOfSCIM answers requests for a path of SCIM with a method that the path does not have.
func otherMethodOfSCIM(c *rest.Call) error {
	return sendSCIMError(c, http.StatusMethodNotAllowed, nil, c.Method()+" is not possible here")
}

func sendSCIMError(c *rest.Call, status int, err error, detail string) error {
	body := map[string]any{"schemas": []string{protocol.ErrorSchema}, "status": strconv.Itoa(status), "detail": detail}
	if kind := protocol.TypeOf(err); kind != "" {
		body["scimType"] = kind
	}
	return sendSCIM(c, status, body)
}

func sendSCIM(c *rest.Call, status int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.Status(status)
	c.Set("Content-Type", protocol.MediaType)
	return c.SendBody(b)
}

// inTime is the context of a call of SCIM. The handlers read their own bodies, so their context
// does not end by itself.
func (a *API) inTime() (context.Context, context.CancelFunc) {
	return context.WithTimeout(database.ForOwner(a.stopping, "scim"), rest.AnswerTimeout)
}

// onSCIM begins a request about the resource whose id is in the path.
func (a *API) onSCIM(c *rest.Call) (context.Context, context.CancelFunc, int, error) {
	id, err := protocol.ParseID(c.Param("id"))
	if err != nil {
		return nil, nil, 0, err
	}
	ctx, cancel := a.inTime()
	return ctx, cancel, id, nil
}

// bodySCIM reads and parses the body of a request.
func bodySCIM[T any](c *rest.Call, parse func([]byte) (T, error)) (T, error) {
	body, err := c.ReadBody(v1.ConfigBody)
	if err != nil {
		return *new(T), err
	}
	return parse(body)
}

// scimAddress returns the URL of a resource.
func (a *API) scimAddress(kind string, id any) string {
	text, ok := id.(string)
	if n, number := id.(int); !ok && number {
		text = strconv.Itoa(n)
	}
	return strings.TrimSuffix(a.cfg.PublicURL, "/") + scimPath + "/" + kind + "/" + text
}

func (a *API) scimMeta(resource string, id int, created, modified time.Time) map[string]any {
	return map[string]any{"resourceType": resource, "created": created.UTC().Format(time.RFC3339), "lastModified": modified.UTC().Format(time.RFC3339),
		"location": a.scimAddress(resource+"s", id)}
}

// A scimPage has the range of a list and the attributes that a client requests.
type scimPage struct {
	start, count int
	filter       []protocol.Compare
	only, except map[string]bool
}

func scimPageOf(c *rest.Call) (p scimPage, err error) {
	p.only, p.except = requestedAttributes(c, "attributes"), requestedAttributes(c, "excludedAttributes")
	if p.start, err = scimNumberOf(c, "startIndex", 1); err != nil {
		return p, err
	}
	if p.count, err = scimNumberOf(c, "count", usualSCIMPage); err != nil {
		return p, err
	}
	p.start, p.count = max(p.start, 1), min(max(p.count, 0), maxSCIMPage)
	if text, has := c.Query("filter"); has && strings.TrimSpace(text) != "" {
		p.filter, err = protocol.ParseFilter(text)
	}
	return p, err
}

func scimNumberOf(c *rest.Call, name string, usual int) (int, error) {
	text, has := c.Query(name)
	if !has || text == "" {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, protocol.Typed(protocol.InvalidValue, fault.New(fault.Invalid, "%s: expected a whole number, found %q", name, fault.Clip(text)))
	}
	return int(n), nil
}

// attributes are the names of attributes in a parameter, in lower case without their schema; nil
// for none.
func requestedAttributes(c *rest.Call, param string) map[string]bool {
	text, _ := c.Query(param)
	if text == "" || len(text) > maxSCIMAttributes {
		return nil
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(text, ",") {
		if path, err := protocol.ParsePath(strings.TrimSpace(name)); err == nil {
			names[path.Attr] = true
		}
	}
	return names
}

// cut removes the attributes that the client does not request; schemas and id stay.
func (p scimPage) cut(resource map[string]any) map[string]any {
	for name := range resource {
		lower := strings.ToLower(name)
		if name != "schemas" && name != "id" && (p.except[lower] || len(p.only) > 0 && !p.only[lower]) {
			delete(resource, name)
		}
	}
	return resource
}

// shows reports whether a client requests an attribute.
func (p scimPage) shows(name string) bool {
	return !p.except[name] && (len(p.only) == 0 || p.only[name])
}

func sendSCIMList(c *rest.Call, p scimPage, total int, resources []map[string]any) error {
	for i := range resources {
		resources[i] = p.cut(resources[i])
	}
	if resources == nil {
		resources = []map[string]any{}
	}
	return sendSCIM(c, http.StatusOK, map[string]any{"schemas": []string{protocol.ListSchema}, "totalResults": total, "startIndex": p.start, "itemsPerPage": len(resources), "Resources": resources})
}

// scimConfig describes what the master supports.
func (a *API) scimConfig(_ context.Context, c *rest.Call) error {
	return sendSCIM(c, http.StatusOK, a.located("ServiceProviderConfig", "", protocol.Supported(maxSCIMPage, v1.ConfigBody)))
}

// searchSCIM gives the answer that RFC 7644, section 3.12, has for a request that a server does not support.
func searchSCIM(context.Context, *rest.Call) error {
	return fault.New(fault.Unimplemented, "users and groups are not searched at once; search in %s/Users or %s/Groups with a filter", scimPath, scimPath)
}

// located adds its own URL to a description.
func (a *API) located(kind, id string, it map[string]any) map[string]any {
	it["meta"] = map[string]any{"resourceType": strings.TrimSuffix(kind, "s"), "location": strings.TrimSuffix(a.scimAddress(kind, id), "/")}
	return it
}

// listSCIM lists descriptions: kinds of resources, or schemas.
func (a *API) listSCIM(list func() []map[string]any) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		all := list()
		for _, it := range all {
			a.located(lastOf(c), it["id"].(string), it)
		}
		return sendSCIMList(c, scimPage{start: 1}, len(all), all)
	}
}

func lastOf(c *rest.Call) string {
	return strings.Split(strings.TrimPrefix(c.Path(), scimPath+"/"), "/")[0]
}

func (a *API) oneSCIM(list func() []map[string]any) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		name := c.Param("name")
		for _, it := range list() {
			if strings.EqualFold(it["id"].(string), name) {
				return sendSCIM(c, http.StatusOK, a.located(lastOf(c), it["id"].(string), it))
			}
		}
		return fault.New(fault.NotFound, "resource %s not found", fault.Clip(name))
	}
}
