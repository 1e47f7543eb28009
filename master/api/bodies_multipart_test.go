//go:build linux

package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// The master treats a form with files like any other body: it stores no part of the form before it
// has checked the route.
func TestFormsOfAnyoneAreNotStored(t *testing.T) {
	pgtest.Alone(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r := newRig(t)
	for _, path := range []string{"/nowhere", "/api/v1/auth/login", "/api/v1/experiments", "/health"} {
		for _, length := range []string{"Content-Length: 20000000000", "Transfer-Encoding: chunked"} {
			t.Run(strings.TrimPrefix(path, "/")+" "+length[:8], func(t *testing.T) {
				before := r.heap()
				status := r.pour(t, path, length, 64<<20, func() {
					if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
						t.Errorf("the master stored %v (%v)", names, err)
					}
					if grown := r.heap() - before; grown > 16<<20 {
						t.Errorf("the master holds %d MB", grown>>20)
					}
				})
				if status == 200 {
					t.Errorf("POST %s is answered with %d", path, status)
				}
			})
		}
	}
	r.anyone().get("/info").ok()
}

// pour sends a form with a file of that many bytes and without an end, looks
// around, breaks off, and gives the status of the answer, if there is one.
func (r *rig) pour(t *testing.T, path, length string, n int, look func()) (status int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	part := "--BOUNDARY\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\nContent-Type: application/octet-stream\r\n\r\n"
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=BOUNDARY\r\n%s\r\n\r\n", path, length)
	chunked := strings.HasSuffix(length, "chunked")
	block := bytes.Repeat([]byte("x"), 1<<20)
	w := io.Writer(conn)
	if chunked {
		w = chunks{conn}
	}
	_, err = io.WriteString(w, part)
	for i := 0; i < n>>20 && err == nil; i++ { // the master may have answered, and gone
		_, err = w.Write(block)
	}
	look()
	_ = conn.(*net.TCPConn).CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		_ = resp.Body.Close()
		status = resp.StatusCode
	}
	return status
}

// chunks writes in the form of a body without a length.
type chunks struct{ w io.Writer }

func (c chunks) Write(p []byte) (int, error) {
	if _, err := fmt.Fprintf(c.w, "%x\r\n", len(p)); err != nil {
		return 0, err
	}
	n, err := c.w.Write(p)
	if err == nil {
		_, err = io.WriteString(c.w, "\r\n")
	}
	return n, err
}

// What a person uploads to a notebook arrives there whole.
func TestUploadsThroughTheProxyArriveWhole(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	me := v.user("determined")
	content := bytes.Repeat([]byte("0123456789abcdef"), 600<<10/16)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	file, err := w.CreateFormFile("upload", "weights.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]io.Reader{"with a length": bytes.NewReader(form.Bytes()), "chunked": io.MultiReader(bytes.NewReader(form.Bytes()))} {
		t.Run(name, func(t *testing.T) {
			me.with("POST", "/proxy/"+p.id+"/upload", body, http.Header{"Content-Type": {w.FormDataContentType()}}).ok()
			p.mu.Lock()
			got, kind := p.body, p.seen.Header.Get("Content-Type")
			p.mu.Unlock()
			if got != form.String() || kind != w.FormDataContentType() {
				t.Fatalf("the program got %d bytes of %q, want %d", len(got), kind, form.Len())
			}
		})
	}
}
