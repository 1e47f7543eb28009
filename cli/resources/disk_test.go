package resources

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/v1"
)

// TestUsersTable: sizes for eyes, and bytes for programs.
func TestUsersTable(t *testing.T) {
	list := []v1.UserDiskUse{{Username: "ada", CodeBytes: 1024, LogBytes: 3 << 20}}
	var eyes, csv strings.Builder
	if err := usersTable(list, 100<<30, false).Write(&eyes); err != nil {
		t.Fatal(err)
	}
	if err := usersTable(list, 100<<30, true).CSV(&csv); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(eyes.String(), "100.0GB") || !strings.Contains(eyes.String(), "1.0KB") || !strings.Contains(eyes.String(), "3.0MB") {
		t.Error(eyes.String())
	}
	if !strings.Contains(csv.String(), "ada,1024,3145728,0,0,3146752,107374182400") {
		t.Error(csv.String())
	}
}
