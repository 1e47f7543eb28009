package scim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/accounts/scim/protocol"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxPage       = 500
	usualPage     = 100
	prefix        = "/scim/v2"
	maxAttributes = 4096 // bytes of the names of attributes
	maxShown      = 20   // operations of a patch that the audit trail names
)

// otherMethod answers requests for a path of SCIM with a method that the path does not have.
func otherMethod(c *rest.Call) error {
	return sendError(c, http.StatusMethodNotAllowed, nil, c.Method()+" is not possible here")
}

func sendError(c *rest.Call, status int, err error, detail string) error {
	body := map[string]any{"schemas": []string{protocol.ErrorSchema}, "status": strconv.Itoa(status), "detail": detail}
	if kind := protocol.TypeOf(err); kind != "" {
		body["scimType"] = kind
	}
	return send(c, status, body)
}

func send(c *rest.Call, status int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.Status(status)
	c.Set("Content-Type", protocol.MediaType)
	return c.SendBody(b)
}

// inTime is the context of a call of SCIM, whose connections to the database are not those of a user. The handlers read their own bodies,
// so their context does not end by itself.
func inTime(c *rest.Call) (context.Context, context.CancelFunc) {
	ctx, cancel := c.Within()
	return database.ForOwner(ctx, Service), cancel
}

// onID is a request about the resource whose id is in the path.
func onID(serve func(ctx context.Context, c *rest.Call, id int) error) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		id, err := protocol.ParseID(c.Param("id"))
		if err != nil {
			return err
		}
		ctx, cancel := inTime(c)
		defer cancel()
		return serve(ctx, c, id)
	}
}

// bodyOf reads and parses the body of a request.
func bodyOf[T any](c *rest.Call, parse func([]byte) (T, error)) (T, error) {
	body, err := c.ReadBody(v1.ConfigBody)
	if err != nil {
		return *new(T), err
	}
	return parse(body)
}

// address returns the URL of a resource.
func (d Deps) address(kind string, id any) string {
	return strings.TrimSuffix(d.PublicURL, "/") + prefix + "/" + kind + "/" + fmt.Sprint(id)
}

func (d Deps) meta(resource string, id int, created, modified time.Time) map[string]any {
	return map[string]any{"resourceType": resource, "created": created.UTC().Format(time.RFC3339), "lastModified": modified.UTC().Format(time.RFC3339),
		"location": d.address(resource+"s", id)}
}

// A page has the range of a list and the attributes that a client requests.
type page struct {
	start, count int
	filter       []protocol.Compare
	only, except map[string]bool
}

func pageOf(c *rest.Call) (p page, err error) {
	p.only, p.except = requestedAttributes(c, "attributes"), requestedAttributes(c, "excludedAttributes")
	if p.start, err = numberOf(c, "startIndex", 1); err != nil {
		return p, err
	}
	if p.count, err = numberOf(c, "count", usualPage); err != nil {
		return p, err
	}
	p.start, p.count = max(p.start, 1), min(max(p.count, 0), maxPage)
	if text, has := c.Query("filter"); has && strings.TrimSpace(text) != "" {
		p.filter, err = protocol.ParseFilter(text)
	}
	return p, err
}

func numberOf(c *rest.Call, name string, usual int) (int, error) {
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
	if text == "" || len(text) > maxAttributes {
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
func (p page) cut(resource map[string]any) map[string]any {
	for name := range resource {
		lower := strings.ToLower(name)
		if name != "schemas" && name != "id" && (p.except[lower] || len(p.only) > 0 && !p.only[lower]) {
			delete(resource, name)
		}
	}
	return resource
}

// shows reports whether a client requests an attribute.
func (p page) shows(name string) bool {
	return !p.except[name] && (len(p.only) == 0 || p.only[name])
}

func sendList(c *rest.Call, p page, total int, resources []map[string]any) error {
	shown := each.Of(resources, p.cut) // never null
	return send(c, http.StatusOK, map[string]any{"schemas": []string{protocol.ListSchema}, "totalResults": total, "startIndex": p.start, "itemsPerPage": len(resources), "Resources": shown})
}

// config describes what the master supports.
func (d Deps) config(_ context.Context, c *rest.Call) error {
	return send(c, http.StatusOK, d.located("ServiceProviderConfig", "", protocol.Supported(maxPage, v1.ConfigBody)))
}

// search gives the answer that RFC 7644, section 3.12, has for a request that a server does not support.
func search(context.Context, *rest.Call) error {
	return fault.New(fault.Unimplemented, "users and groups are not searched at once; search in %s/Users or %s/Groups with a filter", prefix, prefix)
}

// located adds its own URL to a description.
func (d Deps) located(kind, id string, it map[string]any) map[string]any {
	it["meta"] = map[string]any{"resourceType": strings.TrimSuffix(kind, "s"), "location": strings.TrimSuffix(d.address(kind, id), "/")}
	return it
}

// list lists descriptions: kinds of resources, or schemas.
func (d Deps) list(list func() []map[string]any) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		all := list()
		for _, it := range all {
			d.located(lastOf(c), it["id"].(string), it)
		}
		return sendList(c, page{start: 1}, len(all), all)
	}
}

func lastOf(c *rest.Call) string {
	return strings.Split(strings.TrimPrefix(c.Path(), prefix+"/"), "/")[0]
}

func (d Deps) one(list func() []map[string]any) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		name := c.Param("name")
		for _, it := range list() {
			if strings.EqualFold(it["id"].(string), name) {
				return send(c, http.StatusOK, d.located(lastOf(c), it["id"].(string), it))
			}
		}
		return fault.New(fault.NotFound, "resource %s not found", fault.Clip(name))
	}
}
