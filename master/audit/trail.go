package audit

import (
	"bytes"
	"cmp"
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
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Trail writes the audit trail. A call that changes something gets its entry before its
// handler runs, and the result afterwards: if the database accepts no entry, nothing happens,
// and a call whose master ends in between keeps an entry without a result. Sign-ins and reads
// get their entry when the result is known, before it is sent.
//
// Nobody can fill the trail. Rejected calls and reads that repeat within a minute are counted in
// one entry. Of those that do not repeat, each caller has a number of entries of their own; beyond
// it, an entry for each endpoint and result counts them for an hour, without their objects. A change
// always has an entry of its own, so beyond a caller's number of changes the master refuses them.
type Trail struct {
	db       *database.DB
	log      *slog.Logger
	stopping context.Context // ends with the server
	recent   *cache.Cache[call, int64]
	folded   *cache.Cache[call, int64]
	reports  *cache.Cache[call, struct{}] // of users, that have an entry
	// For each caller: changes that begin, and other calls with an entry of their own.
	changes *cache.Rates[string]
	single  *cache.Rates[kindOfCalls]
}

// A kindOfCalls keeps the entries of a caller's rejected calls, and those of reports, from using up the room of
// reads and sign-ins.
type kindOfCalls struct {
	caller            string
	rejected, reports bool
}

// A call has what repeated calls have in common.
type call struct {
	credential, address, username, method, path, object string
	status                                              int
}

const (
	repeatTime  = time.Minute
	maxRepeats  = 10_000
	maxNames    = 2000 // bytes of what a body names
	maxList     = 100  // elements of a list in a body
	maxBody     = 1 << 20
	maxNumber   = 30 // characters of a number in a body
	foldTime    = time.Hour
	maxCallers  = 10_000
	maxCallText = 200 // bytes of an object or a name, to compare calls

	maxChanges   = 5000
	changesEvery = time.Second
	maxSingles   = 500
	singlesEvery = 10 * time.Second
)

// Limits are how many changes a caller may begin at once, and how many other calls have an entry of their own; there is one more in each
// interval. A zero stands for the limit of a master.
type Limits struct {
	Changes, Singles           int
	ChangesEvery, SinglesEvery time.Duration
}

// New returns the trail of a master, which stops with ctx.
func New(ctx context.Context, db *database.DB, log *slog.Logger, l Limits) *Trail {
	return &Trail{db: db, log: log, stopping: ctx, recent: cache.New[call, int64](repeatTime, maxRepeats), folded: cache.New[call, int64](foldTime, maxRepeats),
		reports: cache.New[call, struct{}](foldTime, maxRepeats),
		changes: cache.NewRates[string](cmp.Or(l.Changes, maxChanges), cmp.Or(l.ChangesEvery, changesEvery), maxCallers),
		single:  cache.NewRates[kindOfCalls](cmp.Or(l.Singles, maxSingles), cmp.Or(l.SinglesEvery, singlesEvery), maxCallers)}
}

type entryKey struct{}

// Of is the entry of a call in progress; nil if the call gets none.
func Of(c *rest.Call) *Entry {
	e, _ := c.Value(entryKey{}).(*Entry)
	return e
}

// Drop takes the entry of a call back, because nothing has happened yet.
func Drop(c *rest.Call) { c.Put(entryKey{}, nil) }

// NoteUser completes the entry of a sign-in.
func NoteUser(c *rest.Call, id *int, name string) {
	if e := Of(c); e != nil {
		e.UserID, e.Username = id, name
	}
}

// Body adds what the body of a call names to the call's entry.
func (t *Trail) Body(c *rest.Call, body []byte) {
	if e := Of(c); e != nil {
		e.Names = namesIn(body)
	}
}

// Note adds what a call did to the call's entry.
func Note(c *rest.Call, what map[string]any) {
	e := Of(c)
	if e == nil {
		return
	}
	if b, err := json.Marshal(what); err == nil {
		e.Names = namesIn(b)
	}
}

// Object adds the workspace of an object to the entry of a call, and records reads of
// objects of other users. It fails if the trail does not accept an entry.
func (t *Trail) Object(c *rest.Call, is auth.Object, refusal error) error {
	if e := Of(c); e != nil {
		e.in(is)
	}
	if c.Line().Audit != v1.AuditOthers || is.OwnerID == c.Who().UserID {
		return nil
	}
	e := entryFor(c, c.Who()).in(is)
	addResult(c, e, refusal)
	return t.Add(e)
}

// entryFor begins the entry of a call.
func entryFor(c *rest.Call, who auth.Who) *Entry {
	r := c.Line()
	e := &Entry{Username: who.Username, Credential: CredentialName(who), Address: c.Address(), Method: r.Method, Path: r.Path,
		Verb: verbOf(r), Kind: string(r.Object)}
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

// verbOf is the verb of an entry. A call that names objects in its body changes them, whatever
// verb auth asks for the object of its path; a user who reports for an object changes it.
func verbOf(r v1.Line) string {
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

// CredentialName names the session of a caller, without its secret.
func CredentialName(who auth.Who) string {
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
func addResult(c *rest.Call, e *Entry, err error) {
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
func (t *Trail) Around(c *rest.Call, who auth.Who, run func() error) error {
	r := c.Line()
	if !r.Audited() || who.IsTask() {
		return t.reported(c, who, run())
	}
	e := entryFor(c, who)
	if first := r.Method != http.MethodGet && r.Access != v1.Public; first {
		if !t.changes.Take(t.caller(e), time.Now()) {
			return t.Rejected(c, who, fault.New(fault.TooMany, "%s has made too many changes: %d at once, and then one each second, are possible; try again later", who.Username, maxChanges))
		}
		ctx, cancel := context.WithTimeout(t.forCaller(t.stopping, e), rest.AnswerTimeout)
		id, err := Begin(ctx, t.db, *e)
		cancel()
		if err != nil {
			return err
		}
		e.ID = id
	}
	c.Put(entryKey{}, e)
	err := run()
	if Of(c) == nil { // the handler has taken it back
		return err
	}
	addResult(c, e, err)
	if e.ID != 0 {
		t.end(e)
		return err
	}
	if failed := t.Add(e); failed != nil {
		// The response must not contain what the handler has put there, such as a new session.
		c.Unset("Set-Cookie")
		c.Unset("Location")
		return failed
	}
	return err
}

// Rejected records a call that its caller may not make, and returns why.
func (t *Trail) Rejected(c *rest.Call, who auth.Who, why error) error {
	if r := c.Line(); r.Audited() || r.AuditedReport() && !who.IsTask() {
		e := entryFor(c, who)
		addResult(c, e, why)
		if err := t.Add(e); err != nil {
			return err
		}
	}
	return why
}

// Add inserts the entry of a call that has ended, or counts the call in an earlier entry.
func (t *Trail) Add(e *Entry) error {
	ctx, cancel := context.WithTimeout(t.forCaller(t.stopping, e), rest.AnswerTimeout)
	defer cancel()
	repeats := *e.Status >= 400 || e.Verb == string(v1.View) || e.Verb == string(v1.Enter) || e.Verb == string(v1.Administer)
	earlier, keep := t.place(e, repeats)
	if earlier != 0 {
		return repeat(ctx, t.db, earlier)
	}
	id, err := Begin(ctx, t.db, *e)
	if err == nil {
		keep(id)
	}
	return err
}

// place chooses the entry for a call that is not a successful change: the entry earlier or, if that
// is 0, a new one, whose id keep stores for the next calls. If the caller has used up its entries, the
// call is recorded without its object.
func (t *Trail) place(e *Entry, repeats bool) (earlier int64, keep func(id int64)) {
	now := time.Now()
	key, in := callIn(e), t.recent
	if id, fresh, _ := in.Get(key, now); repeats && fresh {
		return id, nil
	}
	if caller := t.caller(e); !t.single.Take(kindOfCalls{caller: caller, rejected: *e.Status >= 400}, now) {
		e.Object, e.Names, e.Credential, repeats = "", nil, "several", true
		if e.UserID == nil {
			e.Username = ""
		}
		key, in = call{address: caller, method: e.Method, path: e.Path, status: *e.Status}, t.folded
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
func (t *Trail) caller(e *Entry) string {
	switch kind, _, _ := strings.Cut(e.Credential, " "); kind {
	case "none":
		if from, err := netip.ParseAddr(e.Address); err == nil {
			return "address " + cache.NetworkOf(from)
		}
		return "address " + e.Address
	case "task":
		return "tasks of " + e.Username
	default:
		return "user " + e.Username
	}
}

// forCaller returns the context of a caller for an entry, which decides whose connections to the database the entry
// uses. All callers without a session share the same few connections, because their number has no limit.
func (t *Trail) forCaller(ctx context.Context, e *Entry) context.Context {
	if e.UserID == nil && strings.HasPrefix(e.Credential, "none") {
		return database.ForNotes(ctx, "strangers")
	}
	return database.ForNotes(ctx, t.caller(e))
}

func callIn(e *Entry) call {
	return call{e.Credential, e.Address, fault.ClipTo(e.Username, maxCallText), e.Method, e.Path, fault.ClipTo(e.Object, maxCallText), optional.Value(e.Status)}
}

// end stores the result of a call that had its entry before. Its own context lets it finish
// while the server stops.
func (t *Trail) end(e *Entry) {
	ctx, cancel := context.WithTimeout(t.forCaller(context.Background(), e), rest.AnswerTimeout)
	defer cancel()
	earlier, keep := int64(0), func(int64) {}
	if *e.Status >= 400 {
		earlier, keep = t.place(e, true)
	}
	var err error
	if earlier != 0 {
		err = merge(ctx, t.db, e.ID, earlier)
	} else if err = End(ctx, t.db, *e); err == nil {
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
	if err == nil && len(b) > maxNames {
		b, err = json.Marshal(map[string]string{"cut": fault.ClipTo(string(b), maxNames)})
	}
	if err != nil {
		return nil
	}
	return b
}

// keptFields are the names of fields, in lower case and without "_", that the trail keeps, in
// addition to those that end with id, uuid or name.
var keptFields = []string{"active", "admin", "aheadof", "behindof", "checkpointglobs", "checkpointstorage", "filters", "forever", "hard", "joined", "joinedgroups", "labels", "left", "leftgroups", "lifespan", "maxslots", "measure", "numdays", "operations", "period", "preview",
	"priority", "readonly", "remote", "resourcepool", "resources", "saveexperimentbest", "savetrialbest", "savetriallatest", "serviceaccount", "setrevoked", "soft",
	"states", "updates", "user", "validateonly", "weight"}

func keptField(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	if slices.Contains(keptFields, name) {
		return true
	}
	name = strings.TrimSuffix(name, "s")
	return strings.HasSuffix(name, "id") || strings.HasSuffix(name, "name")
}

func pickFields(fields map[string]json.RawMessage, depth int) map[string]any {
	picked := map[string]any{}
	for name, raw := range fields {
		if keptField(name) {
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
		for _, element := range list[:min(len(list), maxList)] {
			out = append(out, pickValue(element, depth-1))
		}
		if more := len(list) - maxList; more > 0 {
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
	if len(raw) > maxNumber || bytes.ContainsAny(raw, "eE") { // 1e9999 is one of 10,000 digits
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
	if len(body) == 0 || len(body) > maxBody || json.Unmarshal(body, &fields) != nil {
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
