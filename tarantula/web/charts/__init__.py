"""Stream views as ECharts options and maps. Text from other sites is only ever a value in them: ECharts keys that
begin with a colon are code.
"""
