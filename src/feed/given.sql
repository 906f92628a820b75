jsonb_build_object('feed', feed, 'exposures', exposures, 'user_column', user_column, 'item_column', item_column, 'time_column', time_column,
		'width', width, 'fpr', fpr, 'headroom', headroom, 'slices', slices, 'mode', mode, 'where', "where", 'user_type', user_type, 'item_type', item_type)
