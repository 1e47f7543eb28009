//go:build linux

package shell

import (
	"errors"
	"io"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// serveFiles serves sftp on a channel: files of the task, with the rights of its user. Relative
// paths start at the working directory of sessions.
func serveFiles(channel ssh.Channel, dir string) error {
	server, err := sftp.NewServer(channel, sftp.WithServerWorkingDirectory(dir))
	if err != nil {
		return err
	}
	// Closing the server would close the channel before the exit status is sent.
	if err := server.Serve(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
