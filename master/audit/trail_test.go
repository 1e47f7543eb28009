package audit_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/audit"
)

func TestNamesIn(t *testing.T) {
	for body, want := range map[string]string{
		``:                     ``,
		`[1]`:                  ``,
		`{"config":"name: x"}`: ``,
		`{"password":"p","admin":true,"display_name":"A"}`:                          `{"admin":true,"display_name":"A"}`,
		`{"user":{"username":"u","password":"p"}}`:                                  `{"user":{"username":"u"}}`,
		`{"updates":[{"jobId":"j","aheadOf":"k","data":"x"}]}`:                      `{"updates":[{"aheadOf":"k","jobId":"j"}]}`,
		`{"id":7,"resources":{"priority":40,"maxSlots":3,"files":1},"notes":"x"}`:   `{"id":7,"resources":{"maxSlots":3,"priority":40}}`,
		`{"userId":2,"measure":"slots","period":"day","soft":0,"hard":null}`:        `{"measure":"slots","period":"day","soft":0,"userId":2}`,
		`{"ids":[{"deep":{"id":1}}],"uuid":"u","token":"t"}`:                        `{"ids":[{}],"uuid":"u"}`,
		`{"runIds":[` + strings.TrimSuffix(strings.Repeat("7,", 150), ",") + `]}`:   `{"runIds":[` + strings.Repeat("7,", 100) + `"and 50 more"]}`,
		`{"name":"a\u0000b","\u0000id":1}`:                                          `{"name":"a�b","�id":1}`,
		`{"id":1e9999,"ids":[12345678901234567890123456789012345]}`:                 `{"id":"1e9999","ids":["12345678901234567890123456789012345"]}`,
		`{"name":"` + strings.Repeat("é", 5000) + `","workspaceId":` + `null` + `}`: `{"name":"` + strings.Repeat("é", 0),
	} {
		got := string(audit.NamesIn([]byte(body)))
		if want == "" && got != "" || !strings.HasPrefix(got, want) || len(got) > 3*audit.MaxNames {
			t.Errorf("%.60s: %s", body, got)
		}
	}
}
