# What `cmake --install DIR --prefix /usr` puts where: programs, man pages, documents, the unit of
# systemd with its user, what Prometheus and Grafana read. The completion of dueqctl is in node/ctl.
#
# The unit has no path of ours in it, so that it serves /usr and /usr/local alike.

include(GNUInstallDirs)

install(TARGETS dueqctl dueq-node RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(PROGRAMS conf/redis/dueq-backup DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES doc/man/dueqctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES doc/man/dueq-node.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)

install(FILES conf/dueq.yaml LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md"
    PATTERN man EXCLUDE PATTERN plots EXCLUDE PATTERN model EXCLUDE PATTERN decisions EXCLUDE)

install(FILES conf/systemd/dueq-node.service DESTINATION lib/systemd/system)
install(FILES conf/systemd/sysusers.conf DESTINATION lib/sysusers.d RENAME dueq.conf)
install(FILES conf/prometheus/alerts.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/dueq/prometheus)
install(FILES conf/grafana/dueq.json DESTINATION ${CMAKE_INSTALL_DATADIR}/dueq/grafana)

# The operator's own configuration: made once, never written over. A prefix of the system's has it
# in /etc, where the unit looks for it.
install(CODE "set(ours \"${CMAKE_CURRENT_SOURCE_DIR}/conf/systemd/dueq.yaml\")")
install(CODE [[
    set(etc "${CMAKE_INSTALL_PREFIX}/etc")
    if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
        set(etc "/etc")
    endif()
    if(NOT EXISTS "$ENV{DESTDIR}${etc}/dueq/dueq.yaml")
        file(INSTALL "${ours}" DESTINATION "${etc}/dueq")
    endif()
]])
