package main

// ratios returns the goals for single operations. Numbers P1 to P18 are those of the performance
// goals of the project; a row is a row of the table of its step 'speed'.
func ratios() []ratio {
	raw := encoded()
	return []ratio{
		{"P1", "decode one / (b)", "decode one", 0.12, allocsRatio, 0.06, decodesOne(unmarshalEDM)},
		{"P2", "decode one / (a1)", "decode one", 0.35, allocsRatio, 0.5, decodesOne(unmarshalJSON)},
		{"P4", "decode a page / decoder written by hand", "decode a page", 1.4, noMemory, 0, decodesPageLikeHand},
		{"P5", "decode a page / (b)", "decode a page", 0.10, allocsEach, 2, decodesPageLikeEDM},
		{"P6", "encode one / (b)", "encode one", 0.10, allocsOfCall, 2, encodes(encodeEDM)},
		{"P7", "encode one / (a)", "encode one", 0.5, allocsRatio, 0.2, encodes(marshalJSON)},

		{"P8", "plain: Get / raw", "plain Get", 1.12, allocsRatio, 1.05, gets(plainOrders, nil)},
		{"P9", "plain: Get / SDK + (b)", "plain Get", 0.65, noMemory, 0, gets(plainOrders, unmarshalEDM)},
		{"P10a", "plain: page of 1,000 / raw", "plain page", 1.12, noMemory, 0, pages(plainOrders, nil)},
		{"P10b", "plain: page of 1,000 / SDK + (b)", "plain page", 0.60, noMemory, 0, pages(plainOrders, unmarshalAll)},
		{"P12", "plain: transaction of 100 with ETags / raw", "plain transaction", 1.08, noMemory, 0, transactions(plainOrders, raw)},

		{"P13", "Get / raw", "Get", 0.50, allocsRatio, 0.55, gets(ordersOf, nil)},
		{"P14a", "page of 1,000 / SDK + (b)", "page", 0.04, allocsRatio, 0.02, pages(ordersOf, unmarshalAll)},
		{"P14b", "page of 1,000 / raw: bytes", "page", 0, bytesRatio, 0.30, pages(ordersOf, nil)},
		{"P15a", "Upsert / SDK + (b)", "Upsert", 0.50, noMemory, 0, upserts},
		{"P15b", "Insert / SDK + (b)", "Insert", 0.35, noMemory, 0, inserts},
		{"P16", "transaction of 100 with ETags / SDK + (b)", "transaction", 0.06, allocsRatio, 0.03, transactions(ordersOf, encodeEDM)},
		{"P17", "2.6 MB in parts, read / SDK + (b)", "read of parts", 0.08, bytesOfData, 4, filmReads},
		{"P18", "2.6 MB in parts, write / SDK + (b)", "write of parts", 0.15, bytesOfData, 3, filmWrites},

		{"row1", "Get / SDK + (b)", "Get", 0.20, noMemory, 0, gets(ordersOf, unmarshalEDM)},
		{"row2", "page of 1,000 / SDK + (b)", "page", 0.03, allocsEach, 2, pages(ordersOf, unmarshalAll)},
		{"row3", "Insert / SDK + (b)", "Insert", 0.22, noMemory, 0, inserts},
		{"row4", "Replace / SDK + (b)", "Replace", 0.30, noMemory, 0, replaces},
		{"row5", "transaction of 100 / SDK + (b)", "transaction", 0.05, noMemory, 0, transactions(ordersOf, encodeEDM)},
		{"row6", "Insert with 1 full copy / SDK + (b)", "Insert with 1 copy", 0.35, noMemory, 0, indexedInserts(1)},
		{"row7", "Insert with 4 full copies / SDK + (b)", "Insert with 4 copies", 0.20, noMemory, 0, indexedInserts(4)},
		{"row8", "Insert with 8 full copies / SDK + (b)", "Insert with 8 copies", 0.15, noMemory, 0, indexedInserts(8)},
		{"row9", "index list of 100 full copies / SDK + (b)", "index list", 0.10, noMemory, 0, indexLists},
		{"row10", "Delete / the call of the SDK", "Delete", 1.1, noMemory, 0, deletes},
		{"row11", "exact Insert / Insert", "exact Insert", 1.5, noMemory, 0, exactInserts},
		{"row12", "15 × 60 KiB, read / SDK + (b)", "read of 15 × 60 KiB", 0.08, bytesOfData, 3, scanReads},
		{"row13", "15 × 60 KiB, write / SDK + (b)", "write of 15 × 60 KiB", 0.10, bytesOfData, 3, scanWrites},
		{"Q14a", "Insert with 1 full copy by a store / without a catalogue", "Insert with 1 copy by a store", 1.05, noMemory, 0, cataloguedInserts},
		{"Q14b", "look-up by a store / without a catalogue", "look-up by a store", 1.05, noMemory, 0, cataloguedLookUps},
		{"Q14c", "index list of 100 by a store / without a catalogue", "index list by a store", 1.05, noMemory, 0, cataloguedLists},
		{"row14", "encode one / encoder written by hand", "encode one", 1.4, noMemory, 0, encodesLikeHand},
	}
}
