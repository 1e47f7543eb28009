package mlflow

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Prefix is where MLflow's interface begins: clients have this address of a master as their tracking URI.
const Prefix = "/mlflow"

// Version is the version of MLflow whose interface this is. Clients ask for it before they use newer calls.
const Version = "3.17.2"

// errorCodes are MLflow's words for errors, and its statuses.
var errorCodes = map[fault.Code]struct {
	word   string
	status int
}{
	fault.Internal: {"INTERNAL_ERROR", 500}, fault.Invalid: {"INVALID_PARAMETER_VALUE", 400}, fault.Unauthenticated: {"UNAUTHENTICATED", 401},
	fault.Forbidden: {"PERMISSION_DENIED", 403}, fault.NotFound: {"RESOURCE_DOES_NOT_EXIST", 404}, fault.Conflict: {"RESOURCE_CONFLICT", 409},
	fault.TooLarge: {"INVALID_PARAMETER_VALUE", 413}, fault.TooMany: {"REQUEST_LIMIT_EXCEEDED", 429},
	fault.Unavailable: {"TEMPORARILY_UNAVAILABLE", 503}, fault.Unimplemented: {"NOT_IMPLEMENTED", 501},
}

func sendError(c *rest.Call, status int, err error, message string) error {
	_, code := rest.StatusOf(err)
	e := errorCodes[code]
	if code == fault.Conflict && strings.HasSuffix(c.Path(), "/create") { // by this word set_experiment sees that another program was faster
		e.word, e.status = "RESOURCE_ALREADY_EXISTS", http.StatusBadRequest
	}
	if status == http.StatusNotFound && code != fault.NotFound || e.word == "" {
		e.word, e.status = "ENDPOINT_NOT_FOUND", status
	}
	if code == fault.Unauthenticated { // who uses MLflow's client has not signed in with det
		message += ". MLFLOW_TRACKING_TOKEN takes an access token: det token create --json"
	}
	return send(c, e.status, map[string]string{"error_code": e.word, "message": message})
}

// otherMethod answers requests for a path with a method that the path does not have.
func otherMethod(c *rest.Call) error {
	return send(c, http.StatusMethodNotAllowed, map[string]string{"error_code": "ENDPOINT_NOT_FOUND", "message": c.Method() + " is not possible here"})
}

func send(c *rest.Call, status int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.Status(status)
	c.Set("Content-Type", "application/json")
	return c.SendBody(b)
}

func sendText(text string) func(context.Context, *rest.Call) error {
	return func(_ context.Context, c *rest.Call) error {
		c.Set("Content-Type", "text/plain; charset=utf-8")
		return c.SendBody([]byte(text))
	}
}

// server says what clients ask before they use what MLflow's own server may have. At MultipartDownloads they would read each file, also a
// small one, from the store, which not every machine outside the cluster reaches.
func (d Deps) server(context.Context, *rest.Call, *v1.None) (*v1.MLflowServer, error) {
	return &v1.MLflowServer{StoreType: "SqlStore", MultipartUploads: true}, nil
}

// openPages sends a browser to the pages. It keeps what comes after the # of a link, such as #/experiments/1/runs/2, and the pages read it.
func openPages(_ context.Context, c *rest.Call) error {
	return c.Redirect("/det/mlflow", http.StatusFound)
}

// other answers calls of MLflow that Detent has not.
func other(ctx context.Context, c *rest.Call) error {
	if strings.Trim(c.Path(), "/") == strings.Trim(Prefix, "/") {
		return openPages(ctx, c)
	}
	return fault.New(fault.Unimplemented, "%s %s is no call of MLflow that Detent has; docs/mlflow.md says what is not here", c.Method(), fault.Clip(c.Path()))
}

// millis is a time in MLflow's form.
func millis(t time.Time) v1.Bare { return v1.Bare(t.UnixMilli()) }

// timeOf is a time of a client; zero if it gives none.
func timeOf(what string, ms v1.Bare) (time.Time, error) {
	switch {
	case ms == 0:
		return time.Time{}, nil
	case ms < 0 || ms > maxMillis:
		return time.Time{}, fault.New(fault.Invalid, "%s: %d is no time in milliseconds since 1970", what, ms)
	}
	return time.UnixMilli(int64(ms)), nil
}

const maxMillis = 253_370_764_800_000 // the year 9999

// A page is the part of a list that a request selects.
type page struct{ offset, limit int }

// maxOffset is how deep a list can be paged through.
const maxOffset = 1_000_000

type pageToken struct {
	Offset int `json:"offset"`
}

func pageOf(token string, limit, usual, most int) (page, error) {
	p := page{limit: limit}
	switch {
	case limit == 0:
		p.limit = usual
	case limit < 0 || limit > most:
		return p, fault.New(fault.Invalid, "max_results: %d is not between 1 and %d", limit, most)
	}
	if token == "" {
		return p, nil
	}
	var t pageToken
	b, err := base64.StdEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil || t.Offset <= 0 || t.Offset > maxOffset {
		return p, fault.New(fault.Invalid, "page_token: %q is not the next_page_token of an earlier answer", fault.Clip(token))
	}
	p.offset = t.Offset
	return p, nil
}

// next is the token of the page after one with n things, if there may be more; nil for none.
func (p page) next(n int, more bool) *string {
	if !more || n == 0 || p.offset+n > maxOffset {
		return nil
	}
	b, _ := json.Marshal(pageToken{p.offset + n}) // a number can be written
	return new(base64.StdEncoding.EncodeToString(b))
}

// tagsOf lists a map by its keys.
func tagsOf(m map[string]string) []v1.MLflowTag {
	list := make([]v1.MLflowTag, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, v1.MLflowTag{Key: key, Value: m[key]})
	}
	return list
}

// Stages of a thing's life.
const (
	active  = "active"
	deleted = "deleted"
)

func stage(archived bool) string {
	if archived {
		return deleted
	}
	return active
}

// viewOf is which things a search finds by their stage: nil for all.
func viewOf(what, view string) (*bool, error) {
	switch view {
	case "", "ACTIVE_ONLY", "1":
		return new(false), nil
	case "DELETED_ONLY", "2":
		return new(true), nil
	case "ALL", "3":
		return nil, nil
	}
	return nil, fault.New(fault.Invalid, "%s: %q is none of ACTIVE_ONLY, DELETED_ONLY and ALL", what, fault.Clip(view))
}

// artifactsOf is where the files of a run are, as clients of MLflow name it.
func artifactsOf(project, run int) string {
	return fmt.Sprintf("mlflow-artifacts:/%d/%d/artifacts", project, run)
}
