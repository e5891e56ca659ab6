"""SAMBA's parties: a customer, data owners, the Controller and Comp."""
