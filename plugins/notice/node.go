package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	nomadWithin = 10 * time.Second
	maxNomad    = 1 << 20 // bytes of an answer of Nomad: the metadata of one node
	// anyHost stands for Nomad in the addresses of requests through a socket.
	anyHost = "http://nomad"
)

// node is the metadata of this node, which Nomad's client on it keeps.
type node struct {
	client  *http.Client
	address string
	token   string
	job     string // of this task, for advice; "" outside of Nomad
}

// newNode finds Nomad. In a task that is the socket in the folder of its secrets, which leads to the client of this very
// node; elsewhere it is the agent at NOMAD_ADDR.
func newNode(env func(string) string) (*node, error) {
	n := &node{token: env("NOMAD_TOKEN"), client: &http.Client{Timeout: nomadWithin}, address: cmp.Or(env("NOMAD_ADDR"), "http://127.0.0.1:4646")}
	if secrets := env("NOMAD_SECRETS_DIR"); secrets != "" {
		if n.token == "" {
			return nil, errors.New("NOMAD_TOKEN is empty: the task needs the block identity { env = true }, because Nomad's socket accepts no request without a token")
		}
		// From here on the folder is reached although this process may give up the right to enter those above it.
		if err := os.Chdir(secrets); err != nil {
			return nil, fmt.Errorf("enter the folder of Nomad's socket: %w", err)
		}
		n.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", "api.sock")
		}}
		n.address, n.job = anyHost, fmt.Sprintf("-namespace %s -job %s", env("NOMAD_NAMESPACE"), env("NOMAD_JOB_ID"))
		return n, nil
	}
	if u, err := url.Parse(n.address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("NOMAD_ADDR: expected an address such as http://127.0.0.1:4646, found %.100q", n.address)
	}
	return n, nil
}

// errRefused says that Nomad allows neither to read nor to write the metadata.
var errRefused = errors.New("permission denied by Nomad")

// metadata reads the metadata of the node, as Nomad has them now.
func (n *node) metadata(ctx context.Context) (map[string]string, error) {
	var said struct{ Meta map[string]string }
	return said.Meta, n.call(ctx, http.MethodGet, nil, &said)
}

// apply sets keys of the metadata, and removes those whose value is nil.
func (n *node) apply(ctx context.Context, changes map[string]*string) error {
	return n.call(ctx, http.MethodPost, map[string]any{"Meta": changes}, nil)
}

func (n *node) call(ctx context.Context, method string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, n.address+"/v1/client/metadata", &body)
	if err != nil {
		return err
	}
	if n.token != "" {
		req.Header.Set("X-Nomad-Token", n.token)
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return fmt.Errorf("no answer of Nomad's client: %w", err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxNomad))
	switch {
	case err != nil:
		return fmt.Errorf("no answer of Nomad's client: %w", err)
	case resp.StatusCode == http.StatusForbidden && n.job != "":
		return fmt.Errorf("%w (%.200s): the job needs its policy: nomad acl policy apply %s det-notice nomad/policies/det-notice.policy.hcl", errRefused, bytes.TrimSpace(said), n.job)
	case resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w (%.200s): NOMAD_TOKEN needs the policy nomad/policies/det-notice.policy.hcl", errRefused, bytes.TrimSpace(said))
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d of Nomad: %.200s", resp.StatusCode, bytes.TrimSpace(said))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(said, out); err != nil {
		return fmt.Errorf("read Nomad's answer: %w", err)
	}
	return nil
}
