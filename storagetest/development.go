package storagetest

import "encoding/base64"

// DevelopmentStorage returns options of the account that the connection string UseDevelopmentStorage=true stands for, with its name,
// its key and its ports: a [Service] with these options, after [Service.Listen], serves programs that expect an emulator.
func DevelopmentStorage() *Options {
	key, _ := base64.StdEncoding.DecodeString("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")
	return &Options{
		Account:   "devstoreaccount1",
		Key:       key,
		Addresses: Addresses{Blob: "127.0.0.1:10000", Queue: "127.0.0.1:10001", Table: "127.0.0.1:10002"},
	}
}
