package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A trail writes the audit trail. A call that changes something gets its entry before its
// handler runs, and the result afterwards: if the database accepts no entry, nothing happens,
// and a call whose master ends in between keeps an entry without a result. Sign-ins and reads
// get their entry when the result is known, before it is sent.
//
// Nobody can fill the trail. Rejected calls and reads that repeat within a minute are counted in
// one entry. Of those that do not repeat, each caller has a number of entries of their own; beyond
// it, an entry for each endpoint and result counts them for an hour, without their objects. A change
// always has an entry of its own, so beyond a caller's number of changes the master refuses them.
type trail struct {
	db       *store.DB
	log      *slog.Logger
	stopping context.Context // ends with the server
	recent   *memory.Memory[auditedCall, int64]
	folded   *memory.Memory[auditedCall, int64]
	reports  *memory.Memory[auditedCall, struct{}] // of users, that have an entry
	// For each caller: changes that begin, and other calls with an entry of their own.
	changes *memory.Rates[string]
	single  *memory.Rates[auditedKind]
}

// An auditedKind keeps the entries of a caller's rejected calls, and those of reports, from using up the room of
// reads and sign-ins.
type auditedKind struct {
	caller            string
	rejected, reports bool
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
	maxAuditNumber  = 30 // characters of a number in a body
	auditFolds      = time.Hour
	// A caller may begin so many changes at once, and one more in each interval.
	maxAuditChanges    = 5000
	auditChangesEvery  = time.Second
	maxAuditSingle     = 500
	auditSinglesEvery  = 10 * time.Second
	maxAuditCallers    = 10_000
	maxAuditedCallText = 200 // bytes of an object or a name, to compare calls
)

func newTrail(ctx context.Context, db *store.DB, log *slog.Logger) *trail {
	return &trail{db: db, log: log, stopping: ctx, recent: memory.New[auditedCall, int64](auditRepeats, maxAuditRepeats), folded: memory.New[auditedCall, int64](auditFolds, maxAuditRepeats),
		reports: memory.New[auditedCall, struct{}](auditFolds, maxAuditRepeats),
		changes: memory.NewRates[string](maxAuditChanges, auditChangesEvery, maxAuditCallers),
		single:  memory.NewRates[auditedKind](maxAuditSingle, auditSinglesEvery, maxAuditCallers)}
}

type auditKey struct{}

// entryOf is the entry of a call in progress; nil if the call gets none.
func entryOf(c *rest.Call) *store.AuditEntry {
	e, _ := c.Value(auditKey{}).(*store.AuditEntry)
	return e
}

// noteUser completes the entry of a sign-in.
func noteUser(c *rest.Call, id *int, name string) {
	if e := entryOf(c); e != nil {
		e.UserID, e.Username = id, name
	}
}

// Body adds what the body of a call names to the call's entry.
func (t *trail) Body(c *rest.Call, body []byte) {
	if e := entryOf(c); e != nil {
		e.Names = namesIn(body)
	}
}

// noteDone adds what a call did to the call's entry.
func noteDone(c *rest.Call, what map[string]any) {
	e := entryOf(c)
	if e == nil {
		return
	}
	if b, err := json.Marshal(what); err == nil {
		e.Names = namesIn(b)
	}
}

// Object adds the workspace of an object to the entry of a call, and records reads of
// objects of other users. It fails if the trail does not accept an entry.
func (t *trail) Object(c *rest.Call, is auth.Object, refusal error) error {
	if e := entryOf(c); e != nil && is.WorkspaceID != 0 {
		e.WorkspaceID = &is.WorkspaceID
	}
	if c.Line().Audit != v1.AuditOthers || is.OwnerID == c.Who().UserID {
		return nil
	}
	e := entryFor(c, c.Who())
	if is.WorkspaceID != 0 {
		e.WorkspaceID = &is.WorkspaceID
	}
	addResult(c, e, refusal)
	return t.add(e)
}

// entryFor begins the entry of a call.
func entryFor(c *rest.Call, who auth.Who) *store.AuditEntry {
	r := c.Line()
	e := &store.AuditEntry{Username: who.Username, Credential: credentialName(who), Address: c.Address(), Method: r.Method, Path: r.Path,
		Verb: auditVerb(r), Kind: string(r.Object)}
	if who.UserID != 0 {
		e.UserID = &who.UserID
	}
	if r.Object == "" || r.Object == v1.KindOwn {
		e.Kind = "session"
	}
	if from, ok := c.Client(); ok {
		e.Address = from.String()
	}
	e.Object = strings.Join(c.Params(), "/")
	return e
}

// auditVerb is the verb of an entry. A call that names objects in its body changes them, whatever
// verb auth asks for the object of its path; a user who reports for an object changes it.
func auditVerb(r v1.Line) string {
	switch {
	case r.Path == v1.ProviderSignOut.Path:
		return path.Base(r.Path)
	case r.Access == v1.Public:
		return "login"
	case r.Verb == "":
		return path.Base(r.Path) // logout
	case r.Verb == v1.Report, r.Verb == v1.View && r.Audited() && r.Method != http.MethodGet:
		return string(v1.Change)
	}
	return string(r.Verb)
}

// credentialName names the session of a caller, without its secret.
func credentialName(who auth.Who) string {
	switch {
	case who.Service != "":
		return "secret of " + who.Service
	case who.Within != "":
		return "task " + who.Within
	case who.IsTask():
		return "task " + who.AllocationID
	case who.AccessToken:
		return "access token " + strconv.FormatInt(who.SessionID, 10)
	case who.SessionID != 0:
		return "session " + strconv.FormatInt(who.SessionID, 10)
	}
	return "none"
}

// addResult adds the result of a call to its entry.
func addResult(c *rest.Call, e *store.AuditEntry, err error) {
	status, body := c.Answered()
	if err != nil {
		var code fault.Code
		status, code = rest.StatusOf(err)
		e.Error = err.Error()
		if code == fault.Internal {
			e.Error = "internal error"
		}
	}
	e.Status = &status
	if err == nil && e.Object == "" && e.Method == http.MethodPost {
		e.Object = idIn(body)
	}
}

// Around runs the handler of a route, with an entry in the trail if the route is audited.
func (t *trail) Around(c *rest.Call, who auth.Who, run func() error) error {
	r := c.Line()
	if !r.Audited() || who.IsTask() {
		return t.reported(c, who, run())
	}
	e := entryFor(c, who)
	if first := r.Method != http.MethodGet && r.Access != v1.Public; first {
		if !t.changes.Take(t.caller(e), time.Now()) {
			return t.Rejected(c, who, fault.New(fault.TooMany, "%s has made too many changes: %d at once, and then one each second, are possible; try again later", who.Username, maxAuditChanges))
		}
		ctx, cancel := context.WithTimeout(t.forCaller(t.stopping, e), rest.AnswerTimeout)
		id, err := t.db.BeginAudit(ctx, *e)
		cancel()
		if err != nil {
			return err
		}
		e.ID = id
	}
	c.Put(auditKey{}, e)
	err := run()
	if entryOf(c) == nil { // the handler has taken it back
		return err
	}
	addResult(c, e, err)
	if e.ID != 0 {
		t.end(e)
		return err
	}
	if failed := t.add(e); failed != nil {
		// The response must not contain what the handler has put there, such as a new session.
		c.Unset("Set-Cookie")
		c.Unset("Location")
		return failed
	}
	return err
}

// Rejected records a call that its caller may not make, and returns why.
func (t *trail) Rejected(c *rest.Call, who auth.Who, why error) error {
	if r := c.Line(); r.Audited() || r.AuditedReport() && !who.IsTask() {
		e := entryFor(c, who)
		addResult(c, e, why)
		if err := t.add(e); err != nil {
			return err
		}
	}
	return why
}

// add inserts the entry of a call that has ended, or counts the call in an earlier entry.
func (t *trail) add(e *store.AuditEntry) error {
	ctx, cancel := context.WithTimeout(t.forCaller(t.stopping, e), rest.AnswerTimeout)
	defer cancel()
	repeats := *e.Status >= 400 || e.Verb == string(v1.View) || e.Verb == string(v1.Enter) || e.Verb == string(v1.Administer)
	earlier, keep := t.place(e, repeats)
	if earlier != 0 {
		return t.db.RepeatAudit(ctx, earlier)
	}
	id, err := t.db.BeginAudit(ctx, *e)
	if err == nil {
		keep(id)
	}
	return err
}

// place chooses the entry for a call that is not a successful change: the entry earlier or, if that
// is 0, a new one, whose id keep stores for the next calls. If the caller has used up its entries, the
// call is recorded without its object.
func (t *trail) place(e *store.AuditEntry, repeats bool) (earlier int64, keep func(id int64)) {
	now := time.Now()
	key, in := callIn(e), t.recent
	if id, fresh, _ := in.Get(key, now); repeats && fresh {
		return id, nil
	}
	if caller := t.caller(e); !t.single.Take(auditedKind{caller: caller, rejected: *e.Status >= 400}, now) {
		e.Object, e.Names, e.Credential, repeats = "", nil, "several", true
		if e.UserID == nil {
			e.Username = ""
		}
		key, in = auditedCall{address: caller, method: e.Method, path: e.Path, status: *e.Status}, t.folded
		if id, fresh, _ := in.Get(key, now); fresh {
			return id, nil
		}
	}
	return 0, func(id int64) {
		if repeats {
			in.Put(key, id, now)
		}
	}
}

// caller identifies the calls that are counted together: those of a user, those of programs in the
// user's tasks, or those from an address without a session.
func (t *trail) caller(e *store.AuditEntry) string {
	switch kind, _, _ := strings.Cut(e.Credential, " "); kind {
	case "none":
		if from, err := netip.ParseAddr(e.Address); err == nil {
			return "address " + rest.NetworkOf(from)
		}
		return "address " + e.Address
	case "task":
		return "tasks of " + e.Username
	default:
		return "user " + e.Username
	}
}

// forCaller says whose connections an entry uses. Repeated calls wait for each other's entry; those of callers without a session use the same
// few connections, because nobody knows how many they are.
func (t *trail) forCaller(ctx context.Context, e *store.AuditEntry) context.Context {
	if e.UserID == nil && strings.HasPrefix(e.Credential, "none") {
		return database.ForNotes(ctx, "strangers")
	}
	return database.ForNotes(ctx, t.caller(e))
}

func callIn(e *store.AuditEntry) auditedCall {
	return auditedCall{e.Credential, e.Address, fault.ClipTo(e.Username, maxAuditedCallText), e.Method, e.Path, fault.ClipTo(e.Object, maxAuditedCallText), optional.Value(e.Status)}
}

// end stores the result of a call that had its entry before. Its own context lets it finish
// while the server stops.
func (t *trail) end(e *store.AuditEntry) {
	ctx, cancel := context.WithTimeout(t.forCaller(context.Background(), e), rest.AnswerTimeout)
	defer cancel()
	earlier, keep := int64(0), func(int64) {}
	if *e.Status >= 400 {
		earlier, keep = t.place(e, true)
	}
	var err error
	if earlier != 0 {
		err = t.db.MergeAudit(ctx, e.ID, earlier)
	} else if err = t.db.EndAudit(ctx, *e); err == nil {
		keep(e.ID)
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
var auditedFields = []string{"active", "admin", "aheadof", "behindof", "checkpointglobs", "checkpointstorage", "filters", "forever", "hard", "joined", "joinedgroups", "labels", "left", "leftgroups", "lifespan", "maxslots", "measure", "numdays", "operations", "period", "preview",
	"priority", "readonly", "remote", "resourcepool", "resources", "saveexperimentbest", "savetrialbest", "savetriallatest", "serviceaccount", "setrevoked", "soft",
	"states", "updates", "user", "validateonly", "weight"}

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
				picked[plain(name)] = v
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
		return plain(text)
	case 't', 'f':
		return raw
	}
	if len(raw) > maxAuditNumber || bytes.ContainsAny(raw, "eE") { // 1e9999 is one of 10,000 digits
		return plain(string(raw))
	}
	return raw
}

// plain shortens a text, and replaces characters that jsonb cannot store.
func plain(text string) string {
	return fault.Clip(strings.ReplaceAll(text, "\x00", "\uFFFD"))
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
