package accounts_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/fault"
)

// Simultaneous calls together must not exceed the limit of a user.
func TestSettingsOfAUserAreBounded(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	value := strings.Repeat("ü", 30<<10) // bytes count, and not characters
	errs := make([]error, 24)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = accounts.SetUserSettings(ctx, w.db, 2, []accounts.UserSetting{{StoragePath: "p", Key: fmt.Sprint(i), Value: value}})
		})
	}
	wg.Wait()
	stored := 0
	for _, err := range errs {
		switch {
		case err == nil:
			stored++
		case !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "bytes"):
			t.Fatal(err)
		}
	}
	if want := accounts.MaxUserSettingBytes / (len(value) + 3); stored != want {
		t.Errorf("%d of 24 were stored; %d fit", stored, want)
	}
	if n := w.int(`SELECT sum(octet_length(storage_path) + octet_length(key) + octet_length(value)) FROM user_settings WHERE user_id = 2`); n > accounts.MaxUserSettingBytes {
		t.Errorf("a user keeps %d bytes; the limit is %d", n, accounts.MaxUserSettingBytes)
	}
	if err := accounts.SetUserSettings(ctx, w.db, 1, []accounts.UserSetting{{Key: "k", Value: value}}); err != nil {
		t.Errorf("another user: %v", err)
	}
	// A user who stored more before the limit existed can remove settings one by one.
	w.exec(`INSERT INTO user_settings (user_id, storage_path, key, value) SELECT 2, 'old', n::text, repeat('x', 60000) FROM generate_series(1, 20) n`)
	if err := accounts.SetUserSettings(ctx, w.db, 2, []accounts.UserSetting{{StoragePath: "old", Key: "1", Value: ""}}); err != nil {
		t.Errorf("removing one: %v", err)
	}
	if err := accounts.SetUserSettings(ctx, w.db, 2, []accounts.UserSetting{{StoragePath: "old", Key: "1", Value: "x"}}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("adding one: %v", err)
	}
}
