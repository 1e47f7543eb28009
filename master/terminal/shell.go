package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/detent-ml/detent/master/fault"
)

// loginWithin is the time limit for the login at the shell's SSH server.
const loginWithin = 15 * time.Second

// Keys are the keys of a shell: the private key that opens it, and the public key of its server.
type Keys struct {
	Private string // PEM
	Host    string // a line of authorized_keys
}

// A Size is the size of a terminal, in characters.
type Size struct{ Columns, Rows uint32 }

// maxSide is the maximum number of columns and rows.
const maxSide = 1000

// Usual is the size of a terminal that states none.
func Usual() Size { return Size{Columns: 80, Rows: 24} }

// ParseSize reads a size; an empty text is the usual value.
func ParseSize(columns, rows string) (Size, error) {
	s := Usual()
	for _, side := range []struct {
		name, text string
		to         *uint32
	}{{"columns", columns, &s.Columns}, {"rows", rows, &s.Rows}} {
		if side.text == "" {
			continue
		}
		n, err := strconv.ParseUint(side.text, 10, 32)
		if err != nil || n == 0 || n > maxSide {
			return s, fault.New(fault.Invalid, "%s: %q is not a number from 1 to %d", side.name, fault.Clip(side.text), maxSide)
		}
		*side.to = uint32(n)
	}
	return s, nil
}

func (s Size) valid() bool {
	return s.Columns > 0 && s.Columns <= maxSide && s.Rows > 0 && s.Rows <= maxSide
}

// A shell is a login shell on a terminal, over SSH.
type shell struct {
	client  *ssh.Client
	session *ssh.Session
}

// login logs in over a connection to the shell's server, and starts the shell with this input and
// output. It closes conn if it fails.
func login(ctx context.Context, conn net.Conn, k Keys, size Size, in io.Reader, out io.Writer) (*shell, error) {
	config, err := k.config()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, loginWithin)
	defer cancel()
	stop := context.AfterFunc(within, func() { _ = conn.Close() })
	s, err := start(conn, config, size, in, out)
	if !stop() { // the time is over, and conn is closed
		err = context.Cause(within)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fault.New(fault.Unavailable, "the shell's server did not answer within %s", loginWithin)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

func (k Keys) config() (*ssh.ClientConfig, error) {
	signer, err := ssh.ParsePrivateKey([]byte(k.Private))
	if err != nil {
		return nil, fmt.Errorf("cannot read the key of the shell: %w", err)
	}
	host, _, _, _, err := ssh.ParseAuthorizedKey([]byte(k.Host))
	if err != nil {
		return nil, fmt.Errorf("cannot read the host key of the shell: %w", err)
	}
	return &ssh.ClientConfig{User: "user", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyAlgorithms: []string{host.Type()},
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if !bytes.Equal(key.Marshal(), host.Marshal()) {
				return errors.New("the server has another key than the shell")
			}
			return nil
		}}, nil
}

func start(conn net.Conn, config *ssh.ClientConfig, size Size, in io.Reader, out io.Writer) (*shell, error) {
	c, channels, requests, err := ssh.NewClientConn(conn, "shell", config)
	if err != nil {
		return nil, fmt.Errorf("cannot log in to the shell: %w", err)
	}
	s := &shell{client: ssh.NewClient(c, channels, requests)}
	if s.session, err = s.client.NewSession(); err != nil {
		return nil, fmt.Errorf("cannot open a session of the shell: %w", err)
	}
	s.session.Stdin, s.session.Stdout, s.session.Stderr = in, out, out
	if err = s.session.Setenv("COLORTERM", "truecolor"); err == nil {
		err = s.session.RequestPty("xterm-256color", int(size.Rows), int(size.Columns), ssh.TerminalModes{})
	}
	if err == nil {
		err = s.session.Shell()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start the shell: %w", err)
	}
	return s, nil
}

// resize sets the size of the terminal.
func (s *shell) resize(size Size) error {
	return s.session.WindowChange(int(size.Rows), int(size.Columns))
}

// wait waits for the end of the shell, and returns how it ended.
func (s *shell) wait() (string, error) {
	err := s.session.Wait()
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return "The shell has ended.", nil
	case !errors.As(err, &exit):
		return "", fault.New(fault.Unavailable, "the connection to the shell was lost")
	case exit.Signal() != "":
		return "The shell was ended by signal " + fault.Clip(exit.Signal()) + ".", nil
	}
	return fmt.Sprintf("The shell has ended with exit status %d.", exit.ExitStatus()), nil
}

func (s *shell) close() { _ = s.client.Close() }
