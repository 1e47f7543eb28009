package nodes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store/rowtest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A rig serves the room alone. A token is the name of a user without roles.
type rig struct {
	*rowtest.World
	url string
}

func newRig(t *testing.T, change ...func(*nodes.Deps)) *rig {
	t.Helper()
	r := &rig{World: rowtest.New(t)}
	router := rest.New(t.Context(), rest.Config{Log: slog.New(slog.DiscardHandler), Identify: r.who, Access: adminsAlone,
		AccessChanges: func() (<-chan struct{}, func()) { return nil, func() {} },
		Poller:        func(c *rest.Call) string { return c.Owner() },
		LimitReads:    database.LimitReads})
	d := nodes.Deps{Changed: func() {}, Inventory: nodes.Inventory{DB: r.DB.DB, Offer: offer,
		Pools: pool.Set{{Name: "default", NodePool: "default", Compute: true, Aux: true, Slots: pool.Slots{Kind: pool.CPUSlots}, Priority: 42}}}}
	for _, c := range change {
		c(&d)
	}
	nodes.Routes(router, d)
	router.Mount()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.url = "http://" + lis.Addr().String()
	served := make(chan error, 1)
	go func() { served <- router.Listen(lis) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := router.Shutdown(10 * time.Second); err != nil {
			t.Error(err)
		}
		<-served
	})
	return r
}

// adminsAlone is api's rule for endpoints of administrators.
func adminsAlone(r *rest.Route, who auth.Who) error {
	if r.Access == v1.ByAdmins && !auth.Can(who, auth.Administer, auth.Object{Kind: r.Object}) {
		return fault.New(fault.Forbidden, "only an admin may do this")
	}
	return nil
}

// offer is the slots of a node's inventory, for the pool with the name of its node pool.
func offer(pool string, n nodes.Row) *sched.Node {
	if n.NodePool != pool {
		return nil
	}
	var has struct{ Slots []sched.Slot }
	if err := json.Unmarshal(n.Inventory, &has); err != nil {
		panic(err)
	}
	return &sched.Node{Slots: has.Slots, Schedulable: n.Status == "ready" && n.Enabled && !n.DrainWanted}
}

// node adds a machine with slots to the default pool.
func (r *rig) node(id, name string, slots int) {
	r.T.Helper()
	var has struct{ Slots []sched.Slot }
	for i := range slots {
		has.Slots = append(has.Slots, sched.Slot{ID: i, Brand: "cores", Healthy: true, Enabled: true})
	}
	inventory, err := json.Marshal(has)
	if err != nil {
		r.T.Fatal(err)
	}
	all, err := nodes.List(r.T.Context(), r.DB.DB)
	if err != nil {
		r.T.Fatal(err)
	}
	all = append(all, nodes.Row{ID: id, Name: name, Address: "127.0.0.1", NodePool: "default", Status: "ready", Eligible: true, Version: "2.0.4", Inventory: inventory})
	if err := rows.RecordNodes(r.T.Context(), r.DB.DB, "", all); err != nil {
		r.T.Fatal(err)
	}
}

func (r *rig) who(_ context.Context, token rest.Credential) (auth.Who, error) {
	id := r.Int(`SELECT coalesce((SELECT id FROM users WHERE username = $1), 0)`, token.Token)
	if id == 0 {
		return auth.Who{}, fault.New(fault.Unauthenticated, "nobody has this token")
	}
	return auth.Who{UserID: id, Username: token.Token, Admin: token.Token == "admin", SessionID: 1}, nil
}

func (r *rig) user(name string) as { return as{r, name} }

// as is a client with a token.
type as struct {
	r     *rig
	token string
}

func (c as) get(path string) answer        { return c.do("GET", path, "") }
func (c as) post(path, body string) answer { return c.do("POST", path, body) }

func (c as) do(method, path, body string) answer {
	c.r.T.Helper()
	q, err := http.NewRequestWithContext(c.r.T.Context(), method, c.r.url+path, strings.NewReader(body))
	if err != nil {
		c.r.T.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		c.r.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.r.T.Fatal(err)
	}
	return answer{c.r.T, method + " " + path, resp.StatusCode, b}
}

// An answer is what a call returned.
type answer struct {
	t    testing.TB
	what string
	code int
	body []byte
}

func (a answer) ok() answer { a.t.Helper(); return a.is(200) }

func (a answer) is(code int) answer {
	a.t.Helper()
	if a.code != code {
		a.t.Fatalf("%s: %d, want %d: %s", a.what, a.code, code, a.body)
	}
	return a
}

func (a answer) says(code int, words ...string) {
	a.t.Helper()
	message := fmt.Sprint(a.is(code).tree()["message"])
	for _, word := range words {
		if !strings.Contains(message, word) {
			a.t.Fatalf("%s: %q does not say %q", a.what, message, word)
		}
	}
}

func (a answer) tree() (m map[string]any) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, &m); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.body)
	}
	return m
}

// at digs a value out of a decoded answer by a dotted path; numbers index lists.
func at(t testing.TB, v any, path string) any {
	t.Helper()
	for step := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[step]; !ok {
				t.Fatalf("no %q of %q in %v", step, path, x)
			}
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(x) {
				t.Fatalf("no item %q of %q in a list of %d", step, path, len(x))
			}
			v = x[i]
		default:
			t.Fatalf("%q of %q: nothing to look in: %v", step, path, v)
		}
	}
	return v
}

func walk(v any, fn func(k string, v any)) {
	switch x := v.(type) {
	case map[string]any:
		for k, y := range x {
			fn(k, y)
			walk(y, fn)
		}
	case []any:
		for _, y := range x {
			walk(y, fn)
		}
	}
}
