package table_test

import "github.com/aztablekit/aztablekit/internal/testkit"

var noError = testkit.NoError
