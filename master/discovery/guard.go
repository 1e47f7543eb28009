package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// anonymousMay asks Consul for the rights of a request without a token. The services are a master's and one like those of tasks, whose
// addresses the master believes. With nodes one removes the registrations of others, with keys one changes what templates read, and
// with acl one gives oneself the rest.
var anonymousMay = []authorization{
	{Resource: "service", Segment: MasterService, Access: "write"},
	{Resource: "service", Segment: "det-guard-1", Access: "write"},
	{Resource: "node", Segment: "det-guard", Access: "write"},
	{Resource: "key", Segment: "det-guard", Access: "write"},
	{Resource: "acl", Access: "write"},
}

// authorization is a question to Consul, and with Allow its answer.
type authorization struct {
	Resource string
	Segment  string `json:",omitempty"`
	Access   string
	Allow    bool `json:",omitempty"`
}

// Address is the address of Consul's API.
func (c *Consul) Address() string { return c.cfg.Address }

// Unguarded returns why everybody who reaches Consul's agent may change what the master reads there, or "". An error means that Consul
// has not answered.
//
// A task on the network of its node reaches Consul's agent. Without access control its program could register services with the names of
// masters and tasks, and remove theirs. The questions carry no token and change nothing.
func (c *Consul) Unguarded(ctx context.Context) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	// An agent without a connection to servers with a leader answers the second question with its default. So the servers answer first.
	status, text, err := c.anonymous(ctx, http.MethodGet, "/v1/acl/policies", nil)
	if err != nil {
		return "", err
	}
	if strings.Contains(text, "ACL support disabled") {
		return "its access control is off", nil
	}
	if status != http.StatusOK && status != http.StatusForbidden {
		return "", c.odd(status, text)
	}
	if status, text, err = c.anonymous(ctx, http.MethodPost, "/v1/internal/acl/authorize", anonymousMay); err != nil {
		return "", err
	}
	var rights []authorization
	if status != http.StatusOK || json.Unmarshal([]byte(text), &rights) != nil || len(rights) != len(anonymousMay) {
		return "", c.odd(status, text)
	}
	for _, r := range rights {
		if r.Allow {
			return fmt.Sprintf("callers without a token have the right %s:%s", r.Resource, r.Access), nil
		}
	}
	return "", nil
}

// anonymous sends a request without a token, whatever tokens configuration and environment have.
func (c *Consul) anonymous(ctx context.Context, method, path string, body any) (status int, text string, err error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	u := *c.base
	u.Path += path
	if c.cfg.Datacenter != "" {
		u.RawQuery = url.Values{"dc": {c.cfg.Datacenter}}.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(sent))
	if err != nil {
		return 0, "", err
	}
	resp, err := c.web.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("consul at %s: %w", c.cfg.Address, err)
	}
	defer resp.Body.Close()
	const most = 1 << 20
	answer, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return 0, "", fmt.Errorf("consul at %s: %w", c.cfg.Address, err)
	}
	return resp.StatusCode, string(answer), nil
}

// odd is the error for an answer that says nothing about rights, such as that of servers without a leader.
func (c *Consul) odd(status int, text string) error {
	const shown = 200
	return fmt.Errorf("consul at %s: %d %s", c.cfg.Address, status, strings.TrimSpace(text[:min(len(text), shown)]))
}
