package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/session"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/cli/internal/tokens"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A rig is a master, a file of sessions, an environment and the user's input.
type rig struct {
	master *servertest.Master
	store  *tokens.Store
	url    string
	env    map[string]string
	typed  string
	tty    bool

	environments chan map[string]string // of tasks
}

// TestSessions runs its parts one after the other on one master. The last ones change what
// the others need.
func TestSessions(t *testing.T) {
	t.Parallel()
	environments := make(chan map[string]string, 1)
	m := servertest.Start(t, func(ctx context.Context, a *servertest.Attempt) int {
		environments <- a.Env
		<-ctx.Done() // the session of a task ends with its attempt
		return 0
	})
	if _, err := m.Client("admin").CreateUser(t.Context(), v1.User{Username: "ada", Active: true}, "secret"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"as whom", asWhom}, {"sessions are kept", sessionsAreKept}, {"a session that is over", sessionThatIsOver}, {"a password is asked for", passwordIsAskedFor},
		{"the token of a task", tokenOfATask}, {"the default user with a password", defaultUserWithAPassword}, {"a master that is away", masterThatIsAway},
	} {
		t.Run(part.name, func(t *testing.T) {
			store, err := tokens.Open(t.TempDir(), m.URL)
			if err != nil {
				t.Fatal(err)
			}
			part.test(t, &rig{master: m, store: store, url: m.URL, env: map[string]string{}, environments: environments})
		})
	}
}

func (r *rig) open(t *testing.T, user string) (*session.Session, error) {
	io, _, _ := term.Buffers(r.typed)
	io.InTTY = r.tty
	return session.Open(t.Context(), session.Options{
		Client: client.Options{Master: r.url}, Store: r.store, User: user, IO: io,
		Lookup: func(name string) (string, bool) { v, ok := r.env[name]; return v, ok },
	})
}

// whoIs opens a session and asks the master whose it is.
func (r *rig) whoIs(t *testing.T, user string) string {
	t.Helper()
	s, err := r.open(t, user)
	if err != nil {
		t.Fatal(err)
	}
	me, err := s.Client.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if me.Username != s.User {
		t.Errorf("the session's user is %q, the master's answer is %q", s.User, me.Username)
	}
	return me.Username
}

func asWhom(t *testing.T, r *rig) {
	if got := r.whoIs(t, ""); got != "determined" {
		t.Errorf("with nothing known: %s", got)
	}
	r.env = map[string]string{"DET_USER": "ada", "DET_PASS": "secret"}
	if got := r.whoIs(t, ""); got != "ada" {
		t.Errorf("with DET_USER and DET_PASS: %s", got)
	}
	r.env = map[string]string{"DET_USER": "admin", "DET_PASS": ""}
	if got := r.whoIs(t, ""); got != "admin" {
		t.Errorf("with a blank DET_PASS: %s", got)
	}
	r.env = map[string]string{"DET_USER": "ada"}
	if got := r.whoIs(t, ""); got != "determined" {
		t.Errorf("DET_USER without DET_PASS must have no effect, but the user is %s", got)
	}
	if err := r.store.SetToken("ada", read(t, r).Tokens["ada"], true); err != nil {
		t.Fatal(err)
	}
	r.env = nil
	if got := r.whoIs(t, ""); got != "ada" {
		t.Errorf("who signed in last: %s", got)
	}
	r.env = map[string]string{"DET_PASS": ""}
	if got := r.whoIs(t, "admin"); got != "admin" {
		t.Errorf("with -u: %s", got)
	}
}

func read(t *testing.T, r *rig) tokens.Sessions {
	t.Helper()
	s, err := r.store.Read()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sessionsAreKept(t *testing.T, r *rig) {
	before := len(r.master.Front.Calls())
	r.whoIs(t, "")
	r.whoIs(t, "")
	logins := 0
	for _, call := range r.master.Front.Calls()[before:] {
		if strings.HasSuffix(call, "/auth/login") {
			logins++
		}
	}
	if logins != 1 || read(t, r).Active != "" {
		t.Errorf("%d sign-ins; active is %q", logins, read(t, r).Active)
	}
}

func sessionThatIsOver(t *testing.T, r *rig) {
	r.whoIs(t, "")
	old := read(t, r).Tokens["determined"]
	c, err := client.New(client.Options{Master: r.url, Token: old})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.whoIs(t, ""); got != "determined" {
		t.Errorf("signed in as %s", got)
	}
	if now := read(t, r).Tokens["determined"]; now == "" || now == old {
		t.Errorf("stored %q", now)
	}
}

func passwordIsAskedFor(t *testing.T, r *rig) {
	s, err := r.open(t, "ada")
	if !fault.Is(err, fault.Unauthenticated) || !strings.Contains(err.Error(), `user "ada" is not signed in`) {
		t.Errorf("without a terminal: %v, %v", s, err)
	}
	r.env = map[string]string{"DET_PASS": "wrong"}
	if _, err := r.open(t, "ada"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("with a wrong password: %v", err)
	}
}

func defaultUserWithAPassword(t *testing.T, r *rig) {
	admin := r.master.Client("admin")
	u, err := admin.UserByName(t.Context(), "determined")
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.SetPassword(t.Context(), u.ID, "changed"); err != nil {
		t.Fatal(err)
	}
	_, err = r.open(t, "")
	if !fault.Is(err, fault.Unauthenticated) || !strings.HasPrefix(err.Error(), "you are not signed in at http://") {
		t.Errorf("%v", err)
	}
}

func tokenOfATask(t *testing.T, r *rig) {
	if _, err := client.Send(t.Context(), r.master.Client("determined"), v1.CreateCommand, v1.LaunchCommandRequest{Config: v1.Struct(`{"entrypoint":["x"]}`)}); err != nil {
		t.Fatal(err)
	}
	if r.env = <-r.environments; r.env["DET_USER_TOKEN"] == "" {
		t.Fatalf("a task's environment: %v", r.env)
	}
	if got := r.whoIs(t, ""); got != "determined" {
		t.Errorf("in a task: %s", got)
	}
	if len(read(t, r).Tokens) != 0 {
		t.Error("the task's token was stored")
	}
}

func masterThatIsAway(t *testing.T, r *rig) {
	r.master.DB.Close()
	if _, err := r.open(t, ""); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
}
