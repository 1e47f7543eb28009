package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A trail writes the audit trail. A call that changes something gets its entry before its
// handler runs, and the result afterwards: if the database accepts no entry, nothing happens,
// and a call whose master ends in between keeps an entry without a result. Sign-ins and reads
// get their entry when the result is known, before it is sent. Rejected calls and reads that
// repeat within a minute are counted in one entry, so that nobody can fill the trail with them.
type trail struct {
	db     *store.DB
	log    *slog.Logger
	recent *memory.Memory[auditedCall, int64]
}

// An auditedCall has what repeated calls have in common.
type auditedCall struct {
	credential, address, username, method, path, object string
	status                                              int
}

const (
	auditRepeats    = time.Minute
	maxAuditRepeats = 10_000
	maxAuditNames   = 2000 // bytes of what a body names
	maxAuditList    = 100  // elements of a list in a body
	maxAuditBody    = 1 << 20
)

func newTrail(db *store.DB, log *slog.Logger) *trail {
	return &trail{db: db, log: log, recent: memory.New[auditedCall, int64](auditRepeats, maxAuditRepeats)}
}

type auditKey struct{}

// entryOf is the entry of a call in progress; nil if the call gets none.
func entryOf(c *fiber.Ctx) *store.AuditEntry {
	e, _ := c.Locals(auditKey{}).(*store.AuditEntry)
	return e
}

// noteUser completes the entry of a sign-in.
func noteUser(c *call, id *int, name string) {
	if e := entryOf(c.Ctx); e != nil {
		e.UserID, e.Username = id, name
	}
}

// noteNames adds what the body of a call names to the call's entry.
func noteNames(c *call, body []byte) {
	if e := entryOf(c.Ctx); e != nil {
		e.Names = namesIn(body)
	}
}

// noteObject adds the workspace of an object to the entry of a call, and records reads of
// objects of other users. It fails if the trail does not accept an entry.
func (a *API) noteObject(c *call, r *route, is auth.Object, refusal error) error {
	if e := entryOf(c.Ctx); e != nil && is.WorkspaceID != 0 {
		e.WorkspaceID = &is.WorkspaceID
	}
	if r.Audit != v1.AuditOthers || c.who.IsTask() || is.OwnerID == c.who.UserID {
		return nil
	}
	e := a.entry(c.Ctx, r, c.who)
	if is.WorkspaceID != 0 {
		e.WorkspaceID = &is.WorkspaceID
	}
	a.result(c.Ctx, e, refusal)
	return a.addEntry(e)
}

func (a *API) entry(c *fiber.Ctx, r *route, who auth.Who) *store.AuditEntry {
	e := &store.AuditEntry{Username: who.Username, Credential: credentialName(who), Address: a.addressOf(c), Method: r.Method, Path: r.Path,
		Verb: auditVerb(r), Kind: string(r.Object)}
	if who.UserID != 0 {
		e.UserID = &who.UserID
	}
	if r.Object == "" || r.Object == v1.KindOwn {
		e.Kind = "session"
	}
	if from, ok := a.clientOf(c); ok {
		e.Address = from.String()
	}
	var params []string
	for _, name := range c.Route().Params {
		params = append(params, c.Params(name))
	}
	e.Object = strings.Join(params, "/")
	return e
}

// auditVerb is the verb of an entry. A call that names objects in its body changes them, whatever
// verb auth asks for the object of its path; a user who reports for an object changes it.
func auditVerb(r *route) string {
	switch {
	case r.Access == v1.Public:
		return "login"
	case r.Verb == "":
		return path.Base(r.Path) // logout
	case r.Verb == v1.Report, r.Verb == v1.View && r.Audited() && r.Method != fiber.MethodGet:
		return string(v1.Change)
	}
	return string(r.Verb)
}

// credentialName names the session of a caller, without its secret.
func credentialName(who auth.Who) string {
	switch {
	case who.Within != "":
		return "task " + who.Within
	case who.AccessToken:
		return "access token " + strconv.FormatInt(who.SessionID, 10)
	case who.SessionID != 0:
		return "session " + strconv.FormatInt(who.SessionID, 10)
	}
	return "none"
}

// result adds the result of a call to its entry.
func (a *API) result(c *fiber.Ctx, e *store.AuditEntry, err error) {
	status := c.Response().StatusCode()
	if err != nil {
		code := fault.CodeOf(err)
		var fe *fiber.Error
		if errors.As(err, &fe) {
			code, _ = ofFiber(fe)
		}
		status, e.Error = statuses[code].http, err.Error()
		if code == fault.Internal {
			e.Error = "internal error"
		}
	}
	e.Status = &status
	if err == nil && e.Object == "" && e.Method == fiber.MethodPost && !c.Response().IsBodyStream() {
		e.Object = idIn(c.Response().Body())
	}
}

// recorded runs the handler of a route, with an entry in the trail if the route is audited.
func (a *API) recorded(c *fiber.Ctx, r *route, who auth.Who) error {
	if !r.Audited() || who.IsTask() {
		return c.Next()
	}
	e := a.entry(c, r, who)
	if first := r.Method != fiber.MethodGet && r.Access != v1.Public; first {
		ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
		id, err := a.db.BeginAudit(ctx, *e)
		cancel()
		if err != nil {
			return err
		}
		e.ID = id
	}
	c.Locals(auditKey{}, e)
	err := c.Next()
	if entryOf(c) == nil { // the handler has taken it back
		return err
	}
	a.result(c, e, err)
	if e.ID != 0 {
		a.trail.end(e)
		return err
	}
	if failed := a.addEntry(e); failed != nil {
		// The response must not contain what the handler has put there, such as a new session.
		c.Response().Header.DelAllCookies()
		c.Response().Header.Del(fiber.HeaderLocation)
		return failed
	}
	return err
}

// rejected records a call that its caller may not make, and returns why.
func (a *API) rejected(c *fiber.Ctx, r *route, who auth.Who, why error) error {
	if r.Audited() && !who.IsTask() {
		e := a.entry(c, r, who)
		a.result(c, e, why)
		if err := a.addEntry(e); err != nil {
			return err
		}
	}
	return why
}

// addEntry inserts the entry of a call that has ended, or counts the call in an earlier entry.
func (a *API) addEntry(e *store.AuditEntry) error {
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	key, now := callIn(e), time.Now()
	repeats := *e.Status >= 400 || e.Verb == string(v1.View) || e.Verb == string(v1.Enter) || e.Verb == string(v1.Administer)
	if earlier, fresh, _ := a.trail.recent.Get(key, now); repeats && fresh {
		return a.db.RepeatAudit(ctx, earlier)
	}
	id, err := a.db.BeginAudit(ctx, *e)
	if err == nil && repeats {
		a.trail.recent.Put(key, id, now)
	}
	return err
}

func callIn(e *store.AuditEntry) auditedCall {
	return auditedCall{e.Credential, e.Address, e.Username, e.Method, e.Path, e.Object, *e.Status}
}

// end stores the result of a call that had its entry before. Its own context lets it finish
// while the server stops.
func (t *trail) end(e *store.AuditEntry) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	key, now := callIn(e), time.Now()
	var err error
	failed := *e.Status >= 400
	if earlier, fresh, _ := t.recent.Get(key, now); failed && fresh {
		err = t.db.MergeAudit(ctx, e.ID, earlier)
	} else {
		err = t.db.EndAudit(ctx, *e)
		if failed {
			t.recent.Put(key, e.ID, now)
		}
	}
	if err != nil {
		t.log.Warn("could not store the result of a call in the audit trail", "entry", e.ID, "status", *e.Status, "error", err)
	}
}

// namesIn returns the fields of a body that name objects or say what is done to them, without
// texts, configurations and secrets; nil if there are none.
func namesIn(body []byte) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(body) == 0 || len(body) > v1.ReportBody || json.Unmarshal(body, &fields) != nil {
		return nil
	}
	picked := pickFields(fields, 3)
	if len(picked) == 0 {
		return nil
	}
	b, err := json.Marshal(picked)
	if err == nil && len(b) > maxAuditNames {
		b, err = json.Marshal(map[string]string{"cut": fault.ClipTo(string(b), maxAuditNames)})
	}
	if err != nil {
		return nil
	}
	return b
}

// auditedFields are the names of fields, in lower case and without "_", that the trail keeps, in
// addition to those that end with id, uuid or name.
var auditedFields = []string{"active", "admin", "aheadof", "behindof", "checkpointglobs", "filters", "joinedgroups", "labels", "leftgroups", "lifespan", "priority", "readonly", "remote",
	"resourcepool", "setrevoked", "states", "updates", "user", "validateonly", "weight"}

func auditedField(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	if slices.Contains(auditedFields, name) {
		return true
	}
	name = strings.TrimSuffix(name, "s")
	return strings.HasSuffix(name, "id") || strings.HasSuffix(name, "name")
}

func pickFields(fields map[string]json.RawMessage, depth int) map[string]any {
	picked := map[string]any{}
	for name, raw := range fields {
		if auditedField(name) {
			if v := pickValue(raw, depth); v != nil {
				picked[name] = v
			}
		}
	}
	return picked
}

// pickValue returns what the trail keeps of a value: scalars, lists, and the fields of objects
// that it keeps.
func pickValue(raw json.RawMessage, depth int) any {
	if depth == 0 || len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return nil
		}
		return pickFields(fields, depth-1)
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		out := []any{}
		for _, element := range list[:min(len(list), maxAuditList)] {
			out = append(out, pickValue(element, depth-1))
		}
		if more := len(list) - maxAuditList; more > 0 {
			out = append(out, "and "+strconv.Itoa(more)+" more")
		}
		return out
	case 'n': // null
		return nil
	case '"':
		var text string
		_ = json.Unmarshal(raw, &text) // it was decoded before
		return fault.Clip(text)
	}
	return raw
}

// idIn finds the id of what was created in a response: its own, or that of its only object.
func idIn(body []byte) string {
	var fields map[string]json.RawMessage
	if len(body) == 0 || len(body) > maxAuditBody || json.Unmarshal(body, &fields) != nil {
		return ""
	}
	if id := scalarIn(fields, "id", "tokenId", "uuid"); id != "" {
		return id
	}
	found := ""
	for _, raw := range fields {
		var inner map[string]json.RawMessage
		if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &inner) != nil {
			continue
		}
		if id := scalarIn(inner, "id", "uuid"); id != "" {
			if found != "" {
				return ""
			}
			found = id
		}
	}
	return found
}

func scalarIn(fields map[string]json.RawMessage, names ...string) string {
	for _, name := range names {
		if raw := fields[name]; len(raw) > 0 && raw[0] != '{' && raw[0] != '[' && raw[0] != 'n' {
			return strings.Trim(string(raw), `"`)
		}
	}
	return ""
}
