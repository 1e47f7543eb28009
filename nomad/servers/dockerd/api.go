package dockerd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// client is a client of the daemon's API.
func (d *Docker) client() *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", d.Socket)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// call makes a request and decodes the answer into out, if that is not nil.
func (d *Docker) call(ctx context.Context, method, path string, query url.Values, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://docker"+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := d.client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, strings.TrimSpace(string(text)))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

func (d *Docker) version(ctx context.Context) (string, error) {
	var v struct{ Version string }
	err := d.call(ctx, http.MethodGet, "/version", nil, &v)
	return v.Version, err
}

// Import makes an image with one layer from a tar of its root. Changes are lines of a Dockerfile: ENV,
// USER, ENTRYPOINT.
func (d *Docker) Import(ctx context.Context, name, tag string, root io.Reader, changes ...string) error {
	path, query := "/images/create?", url.Values{"fromSrc": {"-"}, "repo": {name}, "tag": {tag}, "changes": changes}
	if d.podman { // Podman drops the tag with Docker's path
		path, query = "/v4.0.0/libpod/images/import?", url.Values{"reference": {name + ":" + tag}, "changes": changes}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://docker"+path+query.Encode(), root)
	if err != nil {
		return err
	}
	resp, err := d.client().Do(req)
	if err != nil {
		return fmt.Errorf("cannot import the image %s:%s: %w", name, tag, err)
	}
	defer resp.Body.Close()
	// A stream of messages, the last of which may be an error.
	for dec := json.NewDecoder(resp.Body); ; {
		var m struct {
			Error   string `json:"error"`
			Message string `json:"message"`
		}
		if err := dec.Decode(&m); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("cannot import the image %s:%s: %w", name, tag, err)
		}
		if m.Error+m.Message != "" {
			return fmt.Errorf("cannot import the image %s:%s: %s%s", name, tag, m.Error, m.Message)
		}
	}
}

// RemoveImage removes an image by its name, so that it must be pulled again.
func (d *Docker) RemoveImage(ctx context.Context, name string) error {
	return d.call(ctx, http.MethodDelete, "/images/"+name, url.Values{"force": {"1"}}, nil)
}

// A Container is a container of the daemon.
type Container struct {
	ID    string   `json:"Id"`
	Image string   `json:"Image"`
	Names []string `json:"Names"`
	State string   `json:"State"`
}

// Containers lists the running containers, or all.
func (d *Docker) Containers(ctx context.Context, all bool) ([]Container, error) {
	query := url.Values{}
	if all {
		query.Set("all", "1")
	}
	var list []Container
	err := d.call(ctx, http.MethodGet, "/containers/json", query, &list)
	return list, err
}

// Inspect returns the daemon's description of a container, undecoded.
func (d *Docker) Inspect(ctx context.Context, id string) (json.RawMessage, error) {
	var out json.RawMessage
	err := d.call(ctx, http.MethodGet, "/containers/"+id+"/json", nil, &out)
	return out, err
}
